"""Long work on a store: files in and out, batch runs, reviews, the judge."""
