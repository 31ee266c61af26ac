"""The help of ``pioneers finetune``: its tasks and examples."""

DESCRIPTION = """\
Fine-tune a model: a folder of pioneers train or finetune, a folder in Hugging Face's layout, or a
published name. The result is a folder in Hugging Face's layout where there is one for the model,
and in ours otherwise; all commands read both, and transformers reads the first. The files of a run,
and how it resumes, are those of pioneers train: see pioneers train gpt --help."""
SUMMARIES = {
    "gpt": "go on with a GPT or a Llama; learns from a text",
    "classifier": "let a BERT classify texts, or pairs of texts; learns from a table",
    "tagger": "let a BERT tag words; learns from tagged sentences",
    "reader": "let a BERT find answers in texts; learns from questions",
    "vit": "let a ViT classify other images; learns from a folder of images",
    "transformer": "go on with a Transformer; learns from pairs",
}
EXAMPLES = {
    "gpt": """\
  pioneers finetune gpt --init-from runs/gpt --text mine.txt --out runs/mine
  pioneers finetune gpt --init-from gpt2 --text mine.txt --lora 8 --batch-size 4 --out runs/mine""",
    "classifier": """\
  pioneers finetune classifier --init-from runs/bert --data reviews.csv --out runs/reviews
  pioneers finetune classifier --init-from bert-base-uncased --data pairs.jsonl --text-column premise
    --pair-column hypothesis --lora 8 --out runs/pairs
  pioneers finetune classifier --init-from runs/bert --data train.tsv --text-column 1
    --label-column 2 --out runs/sst2""",
    "tagger": """\
  pioneers finetune tagger --init-from runs/bert --data train.conllu --out runs/tagger
  pioneers finetune tagger --init-from runs/bert --data ner.conll --tag-column 4 --out runs/ner""",
    "reader": """\
  pioneers finetune reader --init-from runs/bert --data squad.json --out runs/reader
  pioneers finetune reader --init-from runs/bert --data questions.csv --out runs/reader --lora 4""",
    "vit": """\
  pioneers finetune vit --init-from runs/digits --images my/letters --out runs/letters
  pioneers finetune vit --init-from google/vit-base-patch16-224 --images pets --lora 8 --out runs/pets""",
    "transformer": """\
  pioneers finetune transformer --init-from runs/dates --pairs mine.tsv --out runs/mine
  pioneers finetune transformer --init-from runs/dates --pairs dates --target de --out runs/mine""",
}
