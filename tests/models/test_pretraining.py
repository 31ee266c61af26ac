import torch

from pioneers.models import BERTConfig, BERTForPretraining
from pioneers.objectives import masked_lm, masked_lm_loss

B, T, V = 3, 7, 31


def test_logits_only_where_something_is_to_be_predicted():
    torch.manual_seed(0)
    sizes = {"d_model": 12, "num_layers": 2, "num_heads": 3}
    model = BERTForPretraining(BERTConfig(vocab_size=V, max_seq_len=11, **sizes)).eval()
    assert model.masked_lm.lm_head.weight is model.bert.embed.token.weight
    inputs, targets = masked_lm(torch.randint(5, V, (B, T)), mask_id=4, vocab_size=V, mask_prob=0.4)
    where = targets != -100
    few, all_of_them = model(inputs, predict_mask=where), model(inputs)
    assert all_of_them.masked_lm.shape == (B, T, V)
    assert all_of_them.next_sentence.shape == (B, 2)
    assert 0 < where.sum() < B * T
    torch.testing.assert_close(few.masked_lm, all_of_them.masked_lm[where])
    torch.testing.assert_close(few.next_sentence, all_of_them.next_sentence)
    loss, full = masked_lm_loss(few.masked_lm, targets), masked_lm_loss(all_of_them.masked_lm, targets)
    torch.testing.assert_close(loss, full)
