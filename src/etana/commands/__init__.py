"""What each command of the command line does, a module for each; :mod:`etana.cli` has their options."""
