"""Cluster support tickets by subject, save the model, load it and label new tickets.

The default encoder comes with the extra "embedded", so no network is used.
"""

import itertools
import tempfile

from caot import CAOT

# Four topics: what people want, and where it happens.
TOPICS = (
    (
        ("cannot log in", "password reset email missing", "account locked", "wrong sign-in code"),
        ("since this morning", "on my phone", "after changing my address", "with single sign-on"),
    ),
    (
        ("invoice shows the wrong amount", "charged twice", "refund not received", "card declined"),
        ("for March", "on my credit card", "for the yearly plan", "after I cancelled"),
    ),
    (
        ("parcel has not arrived", "delivery is late", "tracking number unknown", "box damaged"),
        ("order from last week", "sent to my office", "by the courier", "three days overdue"),
    ),
    (
        ("app crashes", "screen stays black", "app freezes", "error message in the app"),
        ("when I open a photo", "after the update", "on Android", "when exporting a report"),
    ),
)


def tickets() -> list[str]:
    """Return 64 subjects, 16 of each topic."""
    return [f"{what} {where}" for topic in TOPICS for what, where in itertools.product(*topic)]


def main() -> None:
    """Fit, show the clusters, save, load, predict."""
    texts = tickets()
    model = CAOT(n_clusters=4, finetune="none", max_iter=60, batch_size=64)
    labels = model.fit_predict(texts)
    for cluster in range(model.n_clusters):
        members = [text for text, label in zip(texts, labels, strict=True) if label == cluster]
        print(f"cluster {cluster}: {len(members)} tickets, such as")
        for text in members[:: max(1, len(members) // 3)][:3]:
            print(f"    {text}")

    new = ["my login does not work", "why was I billed again?", "where is my package?"]
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        loaded = CAOT.from_pretrained(folder)
    print("new tickets, by the loaded model")
    for text, row in zip(new, loaded.predict_proba(new), strict=True):
        print(f"    cluster {row.argmax()} ({row.max():.0%}): {text}")


if __name__ == "__main__":
    main()
