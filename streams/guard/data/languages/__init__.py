"""The languages with a table: a module each, named by its code."""
