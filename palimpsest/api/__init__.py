"""The public class, its asynchronous twin, and the checks of their arguments."""
