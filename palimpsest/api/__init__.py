"""The public class, its asynchronous twin, and what checks their arguments."""
