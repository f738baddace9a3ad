"""The Emberglass window: shows facts, sends commands, never touches a tensor."""
