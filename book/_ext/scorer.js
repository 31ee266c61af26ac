// Sphinx ranks every page that has a word alike, and then by the alphabet. Here explanations come before uses.
var Scorer = {
  score([page, , , , score]) {
    if (page === "book/notation") return score + 4;
    if (page.startsWith("lectures/")) return score + 3;
    return page.startsWith("labs/") ? score : score + 1;
  },

  // Sphinx's own points.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
