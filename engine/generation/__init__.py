"""From messages to text: template, prefix re-use, decode loop, stop strings, cancel."""
