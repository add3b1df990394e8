"""Long jobs on a store: importing and exporting, batch runs, reviews, the judge."""
