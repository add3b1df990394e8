"""What every runtime must keep, whatever it stores its log in (docs/design.md, Two runtimes)."""
