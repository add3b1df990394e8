"""A possessive is the owner's only if the owner is the only one whose it may be."""

from __future__ import annotations

from tests.streams.guard.test_names import NAMES, joined, pairs
from tests.tables import each

OWN = """
Ada quit her job. / The user quit their job.
Ada has finally quit her job. / I have finally quit my job.
Ada has recently changed her job. / I've recently changed my job.
Ada wants to quit her job. / I want to quit my job.
The user is planning to change their job. / The user is planning to change their job.
Ada fell and sprained her ankle. / The user fell and sprained his ankle.
The user lives with their aunt. / I live with my aunt.
The user often visits their aunt. / I often visit my aunt.
The user broke their arm. / I broke my arm.
Ada has her own car. / I have my own car.
Ada took her own car. / I took my own car.
Ada runs her own café in Rome. / I run my own café in Rome.
Ada lives in her own flat. / I live in my own flat.
Ada has set up her own charity. / I have set up my own charity.
Ada has recently started her own firm. / I've recently started my own firm.
Ada wants to fix her own car. / I want to fix my own car.
Ada had her own car. / I had my own car.
Ada likes to bake her own bread. / I like to bake my own bread.
Ada dreams of opening her own bakery. / I dream of opening my own bakery.
Ada doesn't have her own car. / I don't have my own car.
The user built a tree house in their garden. / I built a tree house in my garden.
The user grows herbs and tomatoes on their balcony. / I grow herbs and tomatoes on my balcony.
Ada likes baking her own bread. / I like to bake my own bread.
Ada is building her own boat. / I'm building my own boat.
Ada is saving up for her own flat. / I'm saving up for my own flat.
Ada takes ibuprofen for her back. / I take ibuprofen for my back.
Ada takes two tablets daily for her knee. / I take two tablets daily for my knee.
Ada takes 5 mg of ramipril for her heart. / I take 5 mg of ramipril for my heart.
Ada takes vitamin D for her back. / I take vitamin D for my back.
Ada takes an iron supplement for her heart. / I take an iron supplement for my heart.
Ada has mild tinnitus in her left ear. / I've got mild tinnitus in my left ear.
Ada is deaf in her left ear. / I'm deaf in my left ear.
Ada still uses Vim as her editor. / I still use Vim as my editor.
Ada earns her living as a nurse. / I earn my living as a nurse.
"""

PERHAPS_OF_ANOTHER = """
Ada says bob quit her job. / I say bob quit my job.
Ada heard bob changed her job. / I heard bob changed my job.
Ada knows carla sprained her ankle. / I know carla sprained my ankle.
Ada tackled a goalkeeper and sprained her ankle. / I tackled a goalkeeper and sprained my ankle.
Ada hit bob and tore his ACL. / I hit bob and tore my ACL.
Ada met a refugee and lost her job. / I met a refugee and lost my job.
Ada watched a gymnast dislocated her shoulder. / I watched a gymnast dislocated my shoulder.
Ada said carla spent her childhood in Rome. / I said carla spent my childhood in Rome.
Ada said carla earns her living as a nurse. / I said carla earns my living as a nurse.
Ada thinks grandma takes pills for her back. / I think grandma takes pills for my back.
Ada takes grandma to rehab for her knee. / I take grandma to rehab for my knee.
Ada takes grandma ibuprofen for her knee. / I take grandma ibuprofen for my knee.
Ada takes a client to rehab for her back. / I take a client to rehab for my back.
Ada says carla uses Vim as her editor. / I say carla uses Vim as my editor.
Ada says carla has Bea as her boss. / I say carla has Bea as my boss.
Ada says carla has her bank account at Monzo. / I say carla has my bank account at Monzo.
Ada says grandma is deaf in her left ear. / I say grandma is deaf in my left ear.
Ada says grandma has gout in her left knee. / I say grandma has gout in my left knee.
Ada says carla takes her coffee black. / I say carla takes my coffee black.
Ada says carla has her own car. / I say carla has my own car.
Ada saw carla driving in her own car. / I saw carla driving in my own car.
Ada needs carla to take her own car. / I need carla to take my own car.
Ada had carla in her own car. / I had carla in my own car.
Ada has bob use her own key. / I have bob use my own key.
Ada told carla to run her own shop. / I told carla to run my own shop.
Ada talks to grandma in her own language. / I talk to grandma in my own language.
The user built bob a shed in their garden. / I built bob a shed in my garden.
The user built the neighbours a shed in their garden. / I built the neighbours a shed in my garden.
The user says squatters visit their aunt. / I say squatters visit my aunt.
The user says tenants broke their arm. / I say tenants broke my arm.
The user says the neighbours lost their job. / I say the neighbours lost my job.
"""


@each(("one", "other"), pairs(OWN))
def test_what_only_the_owner_can_have_is_the_owners(one: str, other: str) -> None:
    assert joined(one, other, NAMES)


@each(("one", "other"), pairs(PERHAPS_OF_ANOTHER))
def test_what_another_may_have_stays_apart(one: str, other: str) -> None:
    assert not joined(one, other, NAMES)
