"""The help of ``pioneers train``: its models, examples, and the files of a run."""

SUMMARIES = {
    "gpt": "continues texts; learns from a text",
    "bert": "predicts hidden words; learns from a text",
    "transformer": "translates; learns from pairs",
    "vit": "says what images show; learns from labelled images",
}
EXAMPLES = {
    "gpt": """\
  pioneers train gpt --text language-reference --out runs/gpt
  pioneers train gpt --text mine.txt --out runs/mine --preset mini --steps 2000
  pioneers train gpt --text shakespeare --out runs/bard --d-model 256 --num-heads 8 --num-layers 6
  pioneers train gpt --text articles.jsonl --column body --tokenizer gpt2 --out runs/articles""",
    "bert": """\
  pioneers train bert --text language-reference --out runs/bert
  pioneers train bert --text mine.txt --out runs/mine --seq-len 64 --steps 3000""",
    "transformer": """\
  pioneers train transformer --pairs dates --target fr --out runs/dates
  pioneers train transformer --pairs numbers --target de --out runs/numbers
  pioneers train transformer --pairs mine.tsv --out runs/mine --vocab-size 4096
  pioneers train transformer --pairs multi30k --target de --drop-long --out runs/captions""",
    "vit": """\
  pioneers train vit --images digits --out runs/digits
  pioneers train vit --images mnist --out runs/mnist --d-model 96 --num-heads 6 --steps 1000
  pioneers train vit --images my/pets --image-size 96 --out runs/pets""",
}
RESULTS = """
results, in the folder that --out names:
  run.yaml                        the options, to repeat the run by --config; written first
  tokenizer.json or vocab.txt     the tokenizer, if there is one; written first
  left_out.json                   the lines of the data that --drop-long and --drop-broken left out
  metrics.jsonl                   the run's numbers, a line of JSON at every evaluation
  checkpoint.best.safetensors     the best weights so far, by val_loss; at an evaluation
  checkpoint.safetensors          the last weights, with all that is needed to resume; every
                                  --checkpoint-every steps, and at the end
  checkpoint.stable.safetensors, checkpoint.stable.best.safetensors
                                  both, from before a cool-down
  config.json, model.safetensors  the model, with the best weights; at the end, and after Ctrl-C or
                                  SIGTERM once there is a checkpoint (not with --shard)
  tensorboard                     a folder, with --tensorboard: tensorboard --logdir FOLDER
  curve.png                       a plot of the losses, if matplotlib is installed; at the end

In a line of metrics.jsonl: step, from 0 on; loss, of the batch of that step; grad_norm, the norm
of the gradient before it is clipped to 1; val_loss, on held-out data; accuracy on it, for a
Transformer and a ViT; lr, the learning rate; tokens/s (rows/s for a ViT) since the previous
line.

When the run is over, everything but config.json, model.safetensors and the tokenizer may be
deleted. Delete run.yaml with the checkpoints: if it is left, the same command trains again.

The same command resumes where the run stopped, even after a crash; at most --checkpoint-every steps
are lost. Every option must be the same as before; only --out and the data file may be renamed, and
--shard and --tensorboard may come or go. A run with --schedule constant can be made longer, also
after its end: the same command with more --steps. Its --cooldown-steps may be changed then; those
already made are taken back. Other schedules are planned for their --steps.

Several processes, one for each GPU, share the work under torchrun:
  torchrun --nproc-per-node 8 -m pioneers train ...          each batch is divided
  torchrun --nproc-per-node 8 -m pioneers train ... --shard  the model too: for large presets
On several machines, the same command on each; --out is a folder that all of them share:
  torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint FIRST:29500
    --max-restarts 3 -m pioneers train ...
With --max-restarts, a process that ends is started again, and all go on from the last checkpoint.
It needs TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 in the environment of each, or a restart may hang.
"""
