"""What every runtime must keep, whatever it stores its log in (design section 7)."""
