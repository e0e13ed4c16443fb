"""A blank English pipeline: rules, matchers, a trained text classifier and a trained tagger."""

import sys

import spacy
from spacy.matcher import Matcher, PhraseMatcher
from spacy.training import Example

rounds = int(sys.argv[1])
spacy.util.fix_random_seed(0)
nlp = spacy.blank("en")
nlp.add_pipe("sentencizer")
ruler = nlp.add_pipe("entity_ruler")
ruler.add_patterns(
    [{"label": "CITY", "pattern": "Oslo"}, {"label": "YEAR", "pattern": [{"SHAPE": "dddd"}]}]
)
text = nlp("Anna moved to Oslo in 1997. She'd liked Rome, U.K. and $9.99 e-mails (really)!")
print([token.text for token in text], [sentence.end for sentence in text.sents])
print([(entity.text, entity.label_) for entity in text.ents])
matcher = Matcher(nlp.vocab)
matcher.add("MOVE", [[{"LOWER": "moved"}, {"OP": "+"}, {"IS_DIGIT": True}]])
phrases = PhraseMatcher(nlp.vocab, attr="LOWER")
phrases.add("PLACE", [nlp.make_doc("rome"), nlp.make_doc("u.k.")])
print([(s, e) for _, s, e in matcher(text)], [(s, e) for _, s, e in phrases(text)])
learner = spacy.blank("en")
classifier = learner.add_pipe("textcat")
tagger = learner.add_pipe("tagger")
for label in ("good", "bad"):
    classifier.add_label(label)
data = []
for words, good in (
    ("a good day", 1),
    ("a bad night", 0),
    ("very good food", 1),
    ("very bad tea", 0),
):
    tags = ["D" if word in ("a", "very") else "N" for word in words.split()]
    data.append(
        Example.from_dict(
            learner.make_doc(words), {"cats": {"good": good, "bad": 1 - good}, "tags": tags}
        )
    )
optimizer = learner.initialize(lambda: data)
for _ in range(rounds):
    losses = learner.update(data, sgd=optimizer, losses={})
print(sorted(losses), [token.tag_ for token in learner("a good day")])
print(
    len(spacy.blank("en").from_bytes(nlp.to_bytes(exclude=["entity_ruler", "sentencizer"])).vocab)
    > 0
    if False
    else len(learner.to_bytes()) > 1000
)
