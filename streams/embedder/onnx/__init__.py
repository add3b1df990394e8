"""The engine `onnx`: ONNX Runtime on the processor."""
