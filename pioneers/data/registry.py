"""The public files: where each is published, its size and its hash."""

from typing import NamedTuple

GITHUB = "https://raw.githubusercontent.com"
SENTEVAL = "https://dl.fbaipublicfiles.com/senteval/senteval_data"
GPT2 = "https://openaipublic.blob.core.windows.net/gpt-2/encodings/main"
MNIST_HOSTS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
)


class PublicFile(NamedTuple):
    """One file as published.

    Attributes:
        size: bytes.
        sha256: of the file; a second one is the same content, compressed again.
        source: its authors and its terms of use.
        urls: download addresses; empty if exactly this file is not available anywhere.
    """

    size: int
    sha256: tuple[str, ...]
    source: str
    urls: tuple[str, ...] = ()


def _mnist(name: str, size: int, *sha256: str) -> PublicFile:
    urls = tuple(f"{host}/{name}" for host in MNIST_HOSTS)
    return PublicFile(size, sha256, "MNIST, LeCun, Cortes and Burges 1998; CC BY-SA 3.0", urls)


def _multi30k(name: str, size: int, sha256: str) -> PublicFile:
    folder = f"{GITHUB}/multi30k/dataset/2cc0f2d7c615b60e07e2d51bb5edc004444d7e0e/data/task1/raw"
    source = "Multi30k, Elliott et al. 2016 and 2017; for research, the photographs' terms are Flickr's"
    return PublicFile(size, (sha256,), source, (f"{folder}/{name}",))


def _sst2(name: str, size: int, sha256: str) -> PublicFile:
    commit = "clairett/pytorch-sentiment-classification/457ffd83de90a9d6d472d8ffc31bbffe40a8b236"
    source = "Stanford Sentiment Treebank, Socher et al. 2013; published for research, no licence named"
    return PublicFile(size, (sha256,), source, (f"{GITHUB}/{commit}/data/SST2/{name}",))


def _subj(name: str, size: int, sha256: str) -> PublicFile:
    commit = "harvardnlp/sent-conv-torch/d61ded09c99c0199d8c5bca946cd65864de2b296"
    source = "subjectivity dataset v1.0, Pang and Lee 2004; published for research, no licence named"
    return PublicFile(size, (sha256,), source, (f"{GITHUB}/{commit}/data/{name}",))


def _mrpc(size: int, sha256: str, *urls: str) -> PublicFile:
    source = "Microsoft Research Paraphrase Corpus, Dolan and Brockett 2005; Microsoft's research licence"
    return PublicFile(size, (sha256,), source, urls)


def _squad2(size: int, sha256: str, *urls: str) -> PublicFile:
    return PublicFile(size, (sha256,), "SQuAD 2.0, Rajpurkar, Jia and Liang 2018; CC BY-SA 4.0", urls)


def _ewt(name: str, size: int, sha256: str) -> PublicFile:
    url = f"{GITHUB}/UniversalDependencies/UD_English-EWT/r2.16/{name}"
    source = "Universal Dependencies 2.16, English Web Treebank, Silveira et al. 2014; CC BY-SA 4.0"
    return PublicFile(size, (sha256,), source, (url,))


# Path below the data folder → file.
FILES: dict[str, PublicFile] = {
    "tinyshakespeare.txt": PublicFile(
        1115394,
        ("86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",),
        "Shakespeare's plays, put together by A. Karpathy for char-rnn, 2015; public domain",
        (
            f"{GITHUB}/karpathy/char-rnn/6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e/data/tinyshakespeare/input.txt",
        ),
    ),
    "gpt2/vocab.bpe": PublicFile(
        456318,
        ("1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",),
        "the merges of GPT-2, Radford et al. 2019; MIT licence",
        (f"{GPT2}/vocab.bpe",),
    ),
    "gpt2/encoder.json": PublicFile(
        1042301,
        ("196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",),
        "the vocabulary of GPT-2, Radford et al. 2019; MIT licence",
        (f"{GPT2}/encoder.json",),
    ),
    "bert/bert-base-uncased-vocab.txt": PublicFile(
        231508,
        ("07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",),
        "the vocabulary of BERT, Devlin et al. 2018; Apache 2.0 licence",
        (
            "https://huggingface.co/google-bert/bert-base-uncased/resolve/"
            "86b5e0934494bd15c9632b12f734a8a67f723594/vocab.txt",
        ),
    ),
    "multi30k/train.en.gz": _multi30k(
        "train.en.gz", 568929, "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f"
    ),
    "multi30k/train.de.gz": _multi30k(
        "train.de.gz", 637044, "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6"
    ),
    "multi30k/train.fr.gz": _multi30k(
        "train.fr.gz", 604242, "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c"
    ),
    "multi30k/val.en.gz": _multi30k(
        "val.en.gz", 21650, "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28"
    ),
    "multi30k/val.de.gz": _multi30k(
        "val.de.gz", 24681, "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a"
    ),
    "multi30k/val.fr.gz": _multi30k(
        "val.fr.gz", 23001, "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9"
    ),
    "multi30k/test_2016_flickr.en.gz": _multi30k(
        "test_2016_flickr.en.gz", 21077, "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9"
    ),
    "multi30k/test_2016_flickr.de.gz": _multi30k(
        "test_2016_flickr.de.gz", 22890, "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8"
    ),
    "multi30k/test_2016_flickr.fr.gz": _multi30k(
        "test_2016_flickr.fr.gz", 22310, "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90"
    ),
    "sst2/train.tsv": _sst2(
        "train.tsv", 720259, "ec192f833a64da08f475488a77b0d0b47db47acd0f458bd18433fc793b569920"
    ),
    "sst2/dev.tsv": _sst2(
        "dev.tsv", 92057, "eddea6b39e601dd4e7a672b53cc40fdf6019fa80522f351206c24340ca5d9359"
    ),
    "sst2/test.tsv": _sst2(
        "test.tsv", 188749, "831169c7e2e429d6026e1bdbb542f33b636e3e596caad9602ebc953c205928b7"
    ),
    "subj/subj.all": _subj(
        "subj.all", 1320246, "f3ffbe2aa8e4f3ba3e63e46dce51613854edbca122fb3aa758b9bce047ded23c"
    ),
    "imdb/aclImdb_v1.tar.gz": PublicFile(
        84125825,
        ("c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",),
        "Large Movie Review Dataset, Maas et al. 2011; published for research, no licence named",
        ("https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",),
    ),
    "mrpc/msr_paraphrase_train.txt": _mrpc(
        1027062, "8ce2b3a2f391f24534f38242d429510f8837eb4d3c4f4e8ff7b56d3678b4bb5c"
    ),
    "mrpc/msr_paraphrase_test.txt": _mrpc(
        432882, "51a1f197d8786712d2f0d97700f5be653b7488a96cde00e158159350d23e3d90"
    ),
    "mrpc/senteval/msr_paraphrase_train.txt": _mrpc(
        1047044,
        "60a9b09084528f0673eedee2b69cb941920f0b8cd0eeccefc464a98768457f89",
        f"{SENTEVAL}/msr_paraphrase_train.txt",
    ),
    "mrpc/senteval/msr_paraphrase_test.txt": _mrpc(
        441275,
        "a04e271090879aaba6423d65b94950c089298587d9c084bf9cd7439bd785f784",
        f"{SENTEVAL}/msr_paraphrase_test.txt",
    ),
    "squad2/dev-v2.0-sample.json": _squad2(
        482661, "db71d0a19c3f656b1ebefafce642b828cfab269f0d906312dfb0efdc7173b31a"
    ),
    "squad2/train-v2.0.json": _squad2(
        42123633,
        "68dcfbb971bd3e96d5b46c7177b16c1a4e7d4bdef19fb204502738552dede002",
        "https://rajpurkar.github.io/SQuAD-explorer/dataset/train-v2.0.json",
    ),
    "squad2/dev-v2.0.json": _squad2(
        4370528,
        "80a5225e94905956a6446d296ca1093975c4d3b3260f1d6c8f68bc2ab77182d8",
        "https://rajpurkar.github.io/SQuAD-explorer/dataset/dev-v2.0.json",
    ),
    "ud_english_ewt/en_ewt-ud-dev.conllu": _ewt(
        "en_ewt-ud-dev.conllu", 1805545, "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6"
    ),
    "ud_english_ewt/en_ewt-ud-test.conllu": _ewt(
        "en_ewt-ud-test.conllu", 1804515, "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd"
    ),
    "mnist/train-images-idx3-ubyte.gz": _mnist(
        "train-images-idx3-ubyte.gz",
        9912422,
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    ),
    "mnist/train-labels-idx1-ubyte.gz": _mnist(
        "train-labels-idx1-ubyte.gz",
        28881,
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    ),
    "mnist/t10k-images-idx3-ubyte.gz": _mnist(
        "t10k-images-idx3-ubyte.gz",
        1648877,
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        "167310007f03058885c7e95e6c0b19c20de5c7fd3031f4cbdadc9014a523d80b",
    ),
    "mnist/t10k-labels-idx1-ubyte.gz": _mnist(
        "t10k-labels-idx1-ubyte.gz",
        4542,
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        "fc607395669ec21321ea83e4b82c0544b7e8e63ff5b34337c06bc0a17cc0da3c",
    ),
}
