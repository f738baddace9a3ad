"""llama.cpp and ggml through ctypes: signatures, struct offsets, handles that free themselves."""
