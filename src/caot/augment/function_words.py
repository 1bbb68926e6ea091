"""Words that carry grammar rather than topic.

To change one changes little that an encoder sees, and to put one in the place of a content word
loses the topic. English only: in other languages every word counts as a content word.
"""

_LISTED = """
a about above across after again against all along also although always am among an and any
anybody anyone anything are aren around as at away back be became because become been before
behind being below beneath beside besides between beyond both but by can cannot could couldn
despite did didn do does doesn doing don done down during each either else enough etc even ever
every everybody everyone everything except few for from further get gets getting got had hadn
has hasn have haven having he her here hers herself him himself his how however i if in inside
instead into is isn it its itself just least less let lets like ll many may maybe me might mine
more most much must mustn my myself near neither never no nobody none nor not nothing now of off
often on once one ones only onto or other others our ours ourselves out outside over own per
perhaps quite rather re s same shall shan she should shouldn since so some somebody somehow
someone something such t than that the their theirs them themselves then there therefore these
they this those though through throughout thus to together too toward towards under underneath
unless until up upon us ve very via was wasn we were weren what whatever when whenever where
wherever whether which whichever while who whoever whom whose why will with within without won
would wouldn yet you your yours yourself yourselves
"""

FUNCTION_WORDS = frozenset(_LISTED.split())
