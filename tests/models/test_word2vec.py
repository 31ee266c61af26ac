import torch
import torch.nn.functional as F

from pioneers.models import Word2Vec
from pioneers.objectives import skip_gram, skip_gram_loss

SIZES = (7, 5, 11)  # words that are used alike: in a text, one of each kind follows one of the kind before
KIND = torch.repeat_interleave(torch.arange(3), torch.tensor(SIZES))


def corpus(sentences):
    generator = torch.Generator().manual_seed(0)
    kinds = [torch.randint(n, (sentences,), generator=generator) for n in SIZES]
    first = torch.tensor([0, 7, 12])
    return (torch.stack(kinds, dim=1) + first).flatten()


def test_scores_are_dot_products_of_a_tokens_vector_with_those_of_its_contexts():
    torch.manual_seed(0)
    model = Word2Vec(11, 6)
    centers, contexts = torch.tensor([3, 5, 3]), torch.randint(11, (3, 4))
    mine, theirs = model.token.weight.detach(), model.context.weight.detach()
    expected = [[mine[i] @ theirs[j] for j in row] for i, row in zip(centers, contexts, strict=True)]
    torch.testing.assert_close(model(centers, contexts).detach(), torch.tensor(expected))


def test_words_that_are_used_alike_come_to_be_near_each_other():
    torch.manual_seed(0)
    text, model = corpus(500), Word2Vec(sum(SIZES), 10)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def nearest():
        vectors = F.normalize(model.token.weight.detach(), dim=1)
        return (vectors @ vectors.T).fill_diagonal_(-1).argmax(dim=1)

    alike = (KIND[nearest()] == KIND).float().mean()
    assert alike < 0.7  # by chance 0.38
    generator = torch.Generator().manual_seed(1)
    losses = []
    for _ in range(50):
        batch = skip_gram(text, text.bincount(), window=1, generator=generator)
        loss = skip_gram_loss(model(*batch))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]
    assert torch.equal(KIND[nearest()], KIND)
