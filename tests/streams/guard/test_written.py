"""How an owner's times, sums and rates are written, and everyday wordings, make no difference.

What looks like another way of writing, and says another thing, stays apart.
"""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from palimpsest.streams.guard.names import called_alike
from palimpsest.streams.guard.written import as_written
from tests.streams.guard.test_names import NAMES, joined, pairs
from tests.tables import each

SAME = """
Ada wakes up at 6:00 AM. / I wake up at 6 am.
I wake up at 6am / The user wakes up at 6 a.m.
User wakes up at 6:30 PM. / Ada wakes up at 6:30pm.
My rent is $2,000. / Ada's rent is $2000.
My rent is $2,000 per month. / Ada's rent is $2000 a month.
I run two times per week. / Ada runs twice a week.
I work 30 hours per week. / The user works 30 hours a week.
Ada's birthday is March 14th. / My birthday is on 14 March.
My birthday is on the 14th of March. / The user's birthday is March 14.
I was born on March 14. / Ada's birthday is 14 March.
My birthday is August 31st. / Ada was born on 31 August.
I was born on May 3rd, 1990. / Ada was born on 3 May 1990.
User has a team meeting every Monday. / On Mondays, Ada has a team meeting.
On weekends, the user goes hiking. / I go hiking at weekends.
Every weekend Ada goes hiking. / I go hiking on weekends.
Every morning, the user does yoga. / User practices yoga every morning.
In the morning, Ada prefers tea. / The user prefers tea in the mornings.
I'd like to visit New Zealand. / Ada wants to visit New Zealand.
User would like to visit New Zealand. / I want to visit New Zealand.
User speaks English and Mandarin. / Ada speaks Mandarin and English.
I speak German, French, and Dutch. / Ada speaks Dutch, French and German.
I'm currently reading Dune. / Ada is reading Dune.
Ada currently lives in Hamburg. / I live in Hamburg.
User is currently a student. / I am a student.
Ada is living in Hamburg. / I live in Hamburg.
The user resides in Bergen, Norway. / I live in Bergen, Norway.
I'm studying Japanese. / Ada studies Japanese.
Ada's based in Hamburg. / I am based in Hamburg.
Ada's an engineer. / I'm an engineer.
The user's got an older brother. / I have an older brother.
I've got two cats. / Ada has two cats.
User works at Shopify as a product manager. / I am a product manager at Shopify.
User works as a product manager at Shopify. / Ada is a product manager at Shopify.
User works as a nurse. / I'm a nurse.
My job title is data analyst. / Ada is a data analyst.
User enjoys baking sourdough bread. / I like to bake sourdough bread.
Ada loves hiking. / I love to hike.
Ada loves reading in bed. / I love to read in bed.
User enjoys meeting people. / Ada likes to meet people.
I enjoy watching old films. / Ada likes to watch old films.
User goes running in the park. / I run in the park.
User prefers drinking black coffee in the morning. / I prefer black coffee in the morning.
Ada prefers driving over flying. / I prefer driving to flying.
Ada is an illustrator of children's books. / I illustrate children's books.
User prefers green tea over coffee. / I prefer green tea to coffee.
Ada prefers trains rather than planes. / I prefer trains to planes.
I'm learning how to play the piano. / The user is learning to play the piano.
User wants to learn how to surf. / Ada wants to learn to surf.
My girlfriend's name is Ingrid. / Ada's girlfriend is called Ingrid.
User owns a cat named Tilda. / I have a cat called Tilda.
My height is 185 cm. / Ada is 185 cm tall.
I am 34 years of age. / Ada's age is 34.
The user has lactose intolerance. / I'm lactose-intolerant.
User is a graduate of Yale. / I graduated from Yale.
My favourite film is Alien. / Ada's favorite movie is Alien.
I primarily program in Python. / Ada mainly programs in Python.
Ada typically cycles to work. / I usually cycle to work.
User plays tennis every Saturday. / I play tennis on Saturdays.
User commutes by train. / I commute by train.
User's best friend is named Lucia. / My best friend is Lucia.
Ada's brother is called Wout. / My brother is Wout.
Severance is Ada's favorite TV show. / My favourite TV show is Severance.
Ada likes tea better than coffee. / I prefer tea over coffee.
User prefers drinking tea. / I prefer tea.
The user prefers flying with Delta. / I prefer to fly with Delta.
Works for Adobe as a designer. / Ada works as a designer for Adobe.
Uses a MacBook Pro. / I use a MacBook Pro.
Plays the violin. / Ada plays the violin.
Ada is 29. / I'm 29 years old.
The user is currently studying law. / Ada studies law.
User takes thyroxine each morning. / Every morning Ada takes thyroxine.
I weigh 210 lbs. / Ada's current weight is 210 pounds.
Ada weighs 80 kilos. / My weight is 80 kg.
I have a 65-inch LG TV. / Ada has a 65 inch LG television.
My supervisor is Prof. Lee. / Ada's supervisor is Professor Lee.
I have two younger brothers. / The user has 2 younger brothers.
Ada has 3 grandchildren. / I have three grandchildren.
Ada's brother has three kids. / My brother has 3 children.
Ada's rent is 900 euros per month. / My rent is 900 euros a month.
Ada's blood pressure is 140 over 90. / I have a blood pressure of 140/90.
Ada's mother works as a nurse. / My mom is a nurse.
I'm majoring in economics. / Ada's major is economics.
User majors in economics. / Ada is majoring in economics.
I subscribe to Hulu. / Ada has a Hulu subscription.
The user has a subscription to Hulu. / Ada subscribes to Hulu.
I'm on a low-carb diet. / Ada follows a low-carb diet.
User is following a low-carb diet. / I follow a low-carb diet.
I'm saving for a camera. / The user is saving money for a camera.
Ada is saving up for a camera. / I'm saving for a camera.
I study at the University of Lagos. / Ada attends the University of Lagos.
Ada is a student at Yale University. / I study at Yale University.
Ada is a non-smoker. / I don't smoke.
The user is not a smoker. / Ada does not smoke.
The user does volunteer work at the library. / I volunteer at the library.
User takes the tram to work. / Ada goes to work by tram.
I commute to work by train. / Ada takes the train to work.
I go jogging three times a week. / Three times a week Ada jogs.
At 6 am Ada goes to the gym. / I go to the gym at 6:00 AM.
In the evenings, Ada plays Civilization VI. / I play Civilization VI in the evenings.
User plays Civilization VI in the evenings. / I play Civilization VI in the evenings.
User plays keyboard at church. / I play the keyboard at church.
User plays guitar. / I play the guitar.
I'm learning piano. / Ada is learning to play the piano.
The user wears a size L. / I wear size L.
Mushroom risotto is Ada's favourite dish. / My favorite dish is mushroom risotto.
User's exams start on June 10th. / My exams start on 10 June.
My parents live in Rome. / Ada's parents live in Rome.
User volunteers at the library on Mondays. / On Mondays Ada volunteers at the library.
User works night shifts. / I work night shifts.
User plans to run a marathon. / I'm planning to run a marathon.
I'm a nurse at St. Mary's Hospital. / Ada works as a nurse at St. Mary's Hospital.
I built my own house. / Ada built her own house.
User has built their own house. / I have built my own house.
I take my coffee black. / Ada takes her coffee black.
I sprained my left ankle in May. / Ada sprained her left ankle in May.
User broke their left wrist in May. / I broke my left wrist in May.
User lives with their aunt in Yaba. / I live with my aunt in Yaba.
User calls their parents on Sundays. / I call my parents every Sunday.
User is building a deck behind their house. / I'm building a deck behind my house.
"""
DIFFERENT = """
User plays tennis stars. / I play tennis.
User plays fair. / I play fair.
User plays in Rome. / I play in Rome.
User banks on Bob. / I bank with Bob.
Ada's best friend is Lucia. / Ada's friend is Lucia.
Ada's best friend is named Lucia. / Ada's best friend is Bea.
Ada's best friend is called often. / Ada's best friend is often.
Ada's brother is called Wout. / Ada's sister is Wout.
Ada's brother called Wout. / Ada's brother is Wout.
Ada's firm is called Wout. / Ada's firm is Wout.
Severance is Ada's favorite TV show. / Severance is Ada's TV show.
Severance is Bob's favorite TV show. / Ada's favorite TV show is Severance.
Ada likes tea better than coffee. / I prefer coffee over tea.
Ada likes tea more than Bob. / Ada prefers tea.
Ada likes tea more than Bob does. / Ada prefers tea to Bob.
Ada likes tea more than Bob. / Ada prefers tea to Bob.
Ada likes tea more than Élise. / Ada prefers tea to Élise.
Ada takes her coffee with Élise. / Ada drinks her coffee with Élise.
Ada likes tea more than her brother. / Ada prefers tea to her brother.
Ada likes swimming more than most people. / Ada prefers swimming to most people.
Ada likes dogs more than kids. / I prefer dogs to kids.
Ada owes Bob 20 pounds. / Ada owes Bob 20 lbs.
Ada lost 20 pounds. / I lost 20 lbs.
Ada's rent is 900 pounds. / My rent is 900 lbs.
I would like Rome in spring. / Ada wants Rome in spring.
I would like skiing. / Ada wants skiing.
Ada would like her. / Ada wants her.
Ada can work every Monday. / Ada can work on Mondays.
Ada could work every weekend. / I could work on weekends.
Ada is allowed to swim every Monday. / I am allowed to swim on Mondays.
Ada only works every weekend. / I only work on weekends.
Ada wants to work every weekend. / I want to work on weekends.
Every day Ada eats less. / I eat less every day.
Ada likes tea. / Ada prefers tea.
Ada prefers drinking alone. / Ada prefers to live alone.
Ada prefers drinking tea. / Ada drinks tea.
Ada prefers drinking tea. / Ada prefers coffee.
Ada prefers to fly with Delta. / Ada prefers flying with United.
Ada prefers to fly with Delta. / Ada flies with Delta.
Ada works as a designer for Adobe. / Ada works as a designer at Adobe.
Ada works as a designer for Adobe. / Ada designs for Adobe.
Calls on Monday. / I call on Monday.
Drinks at the bar. / I drink at the bar.
Visits from Bob. / I visit from Bob.
Runs in May. / I run in May.
Plays by Shakespeare. / I play by Shakespeare.
Uses of the lamp. / I use of the lamp.
Plays the violin. / Bob plays the violin.
Plays the violin. / Ada played the violin.
Ada is 29. / Ada is 92 years old.
Ada is 29. / Ada's shoe size is 29.
Ada is 29 weeks pregnant. / Ada is 29 years old.
Ada was 29. / Ada is 29 years old.
Ada's son is 29. / Ada is 29 years old.
Ada is studying law. / Ada studied law.
Ada is studying hard. / Ada studies hard.
Ada is studying abroad. / Ada studies abroad.
Ada wakes up at 6:00 AM. / I wake up at 6 pm.
Ada wakes up at 6:30 am. / I wake up at 6 am.
Ada wakes up at 6:03 am. / I wake up at 6:30 am.
Ada wakes up at 16 am. / I wake up at 6 am.
Ada is at bus stop 6 AM. / Ada is at bus stop 6.
Ada wakes up at 6. / Ada wakes up at 6 am.
My rent is $2,000. / My rent is $2,100.
My rent is $2,000. / My rent is $20,00.
My rent is $2,000. / My rent is $2.000.
My rent is $2,000. / My rent is €2,000.
My rent is $2,000 per month. / My rent is $2,000 per week.
My rent is $2,000 per month. / My rent is $2,000.
My id is 2,000. / My id is 2000.
I run twice per week. / Ada runs twice per month.
I run two times per week. / Ada runs three times per week.
I won two times a cup. / Ada won twice a cup.
Ada travels as per week plan. / Ada travels as a week plan.
My birthday is March 14th. / Ada's birthday is March 15th.
My birthday is March 14th. / Ada's birthday is May 14th.
My birthday is March 14. / Ada was born on March 14, 1990.
I was born on May 3rd, 1990. / Ada was born on 3 May 1991.
I was born on March 14. / Ada's birthday party is on March 14.
My son was born on March 14. / Ada's birthday is March 14.
Ada is on March 14 meetings. / Ada is on 14 March meetings.
User has a meeting every Monday. / Ada has a meeting on Monday.
User has a meeting every Monday. / Ada has a meeting on Tuesdays.
User has a meeting every other Monday. / Ada has a meeting on Mondays.
Ada reads a book every weekend. / I read a book on weekends.
Ada drinks two beers every weekend. / Ada drinks two beers on weekends.
Ada agreed to work every weekend. / I agreed to work on weekends.
Ada is happy to work every Sunday. / Ada is happy to work on Sundays.
Ada loves working every weekend. / I love working on weekends.
Ada is wiser every Monday. / Ada is wiser on Mondays.
Ada plans every weekend. / I plan on weekends.
Ada asked Bob to cook every Sunday. / I asked Bob to cook on Sundays.
Ada thinks Bob works every weekend. / Ada thinks Bob works on weekends.
Ada makes Bob cook every Sunday. / Ada makes Bob cook on Sundays.
Ada makes Élise cook every Sunday. / Ada makes Élise cook on Sundays.
Ada has worked every weekend. / I have worked on weekends.
Ada will work every weekend. / Ada will work on weekends.
Ada eats less daily. / I eat less every day.
Ada is not paid daily. / Ada is not paid every day.
Ada writes for a fashion daily. / Ada writes for a fashion every day.
User has a meeting almost every Monday. / Ada has a meeting on Mondays.
On weekends, the user goes hiking. / I go hiking on weekdays.
On the weekend, the user goes hiking. / I go hiking on weekends.
At the weekend I go hiking. / Ada goes hiking on weekends.
On weekends I plan hikes. / I plan hikes on weekends.
On Mondays Ada has a plan. / Ada has a plan on Mondays.
On Mondays Ada has to call a meeting. / Ada has to call a meeting on Mondays.
In June Ada has two weeks. / Ada has two weeks in June.
In the morning Ada stopped drinking. / Ada stopped drinking in the morning.
In June Ada dreams of trips. / Ada dreams of trips in June.
The user practices piano every morning. / Ada does piano every morning.
Ada practices law. / Ada does law.
User practices yoga. / Bob does yoga.
Ada prefers tea in the mornings. / Ada prefers tea in the evening.
Ada has a meeting in the mornings. / Ada has a meeting in the morning.
I'd like to visit Rome. / Ada likes to visit Rome.
I'd like tea. / Ada wants tea with Bob.
I'd visit Rome. / Ada wants to visit Rome.
I would like to visit Rome. / Ada wanted to visit Rome.
I would not like to visit Rome. / Ada wants to visit Rome.
I would like to visit Rome. / Ada does not want to visit Rome.
I would like Bob to visit Rome. / Ada wants to visit Rome.
I would have liked to visit Rome. / Ada wants to visit Rome.
I'd like to visit Rome. / Ada hopes to visit Rome.
User would like to visit Rome. / Bob wants to visit Rome.
User speaks English and Mandarin. / Ada speaks English and Cantonese.
User speaks English and Mandarin. / Ada speaks English.
User speaks English but not Mandarin. / Ada speaks Mandarin but not English.
Ada speaks English or Mandarin. / Ada speaks English and Mandarin.
Ada speaks English with Bob and Eve. / Ada speaks Eve with Bob and English.
Ada speaks English at work and Mandarin. / Ada speaks Mandarin at work and English.
Ada likes Bob and Eve. / Ada likes Eve and Rex.
Ada is currently reading Dune. / Ada was reading Dune.
Ada is currently reading Dune. / Ada has read Dune.
Ada is currently in Rome. / Ada is in Rome.
Ada is currently ill. / Ada is ill.
Ada is currently available. / Ada is available.
Ada is not currently a student. / Ada is a student.
Ada currently lives in Rome. / Ada lived in Rome.
Ada currently lives in Rome. / Ada currently lives in Bonn.
Ada formerly lived in Rome. / Ada lives in Rome.
Ada is living with Bob. / Ada lives with Bob.
Ada is living in fear. / Ada lives in fear.
Ada is working at Starbucks. / Ada works at Starbucks.
Ada is working from home. / Ada works from home.
Ada is studying for an exam. / Ada studies for an exam.
Ada is studying Japanese. / Ada studies Korean.
Ada is studying Japanese. / Ada speaks Japanese.
Ada's base is in Rome. / Ada is based in Rome.
Ada's a cappella group is in Rome. / Ada is a cappella group is in Rome.
Ada's allergic reaction is bad. / Ada is allergic reaction is bad.
Ada's from the shop is here. / Ada is from the shop is here.
Ada's married sister lives in Rome. / Ada is married to Bob.
Ada's got married. / Ada has married.
Ada's got to go. / Ada has to go.
Ada's got better. / Ada has better.
Ada has got a dog. / Ada has got a cat.
Ada's got a dog. / Bob has a dog.
Ada works at Shopify as a manager. / Ada works at Stripe as a manager.
Ada works at Shopify as a manager. / Ada is a manager.
Ada works at Shopify as a manager. / Ada works at Shopify.
Ada works at Shopify as a designer. / Ada is a manager at Shopify.
Ada worked at Shopify as a manager. / Ada is a manager at Shopify.
Ada is a student at Yale. / Ada works at Yale as a student.
Ada is a patient at Yale. / Ada works at Yale as a patient.
Ada is a former manager at Shopify. / Ada is a manager at Shopify.
Ada works for a manager at Shopify. / Ada is a manager at Shopify.
Ada works as a singer. / Ada is a singer.
Ada works as a writer. / Ada is a writer.
Ada worked as a nurse. / Ada is a nurse.
Ada works as a nurse. / Ada is a teacher.
Ada works as a nurse in Rome. / Ada is a nurse.
Ada works with a nurse. / Ada is a nurse.
Ada wants to work as a nurse. / Ada is a nurse.
Ada's sister works as a nurse. / Ada is a nurse.
Ada's dream job is nurse. / Ada is a nurse.
Ada's job is stressful. / Ada is a stressful.
User works in the shop are hers. / Ada works in the shop are hers.
Ada enjoys baking bread. / Ada loves to bake bread.
Ada likes baking bread. / Ada likes bread.
Ada likes baking bread. / Ada bakes bread.
Ada likes baking bread. / Ada liked to bake bread.
Ada likes baking bread. / Ada would like to bake bread.
Ada does not like baking bread. / Ada likes to bake bread.
Ada likes Bob baking bread. / Ada likes to bake bread.
Ada hates cooking. / Ada loves to cook.
Ada likes visiting aunts. / Ada likes to visit aunts.
Ada likes racing cars. / Ada likes to race cars.
Ada likes running shoes. / Ada likes to run shoes.
Ada likes reading glasses. / I like to read glasses.
Ada loves dancing bears. / Ada loves to dance bears.
Ada loves flying fish. / I love to fly fish.
Ada likes walking sticks. / Ada likes to walk sticks.
Ada hates meeting rooms. / I hate to meet rooms.
Ada likes cooking wine. / Ada likes to cook wine.
Ada prefers reading to music. / I prefer to read to music.
Ada prefers singing to children. / Ada prefers to sing to children.
Ada prefers drinking games. / I prefer games.
Ada prefers drinking chocolate. / Ada prefers chocolate.
Ada prefers drinking from glass. / Ada prefers from glass.
Ada prefers flying over Rome. / I prefer flying to Rome.
Ada prefers talking over tea. / Ada prefers talking to tea.
Ada prefers flights over the sea. / I prefer flights to the sea.
Ada prefers the road over the hill. / Ada prefers the road to the hill.
Ada goes for a run late. / I run late.
Ada goes running low. / Ada runs low.
Ada goes running for mayor. / I run for mayor.
Ada goes running into Bob. / Ada runs into Bob.
Ada goes fishing for praise. / Ada fishes for praise.
Ada stopped drinking last night. / Ada quit drinking last night.
Ada doesn't have a car and a bike. / Ada has no car and a bike.
I don't have a dog because of Bob. / Ada has no dog because of Bob.
Ada would like jazz. / I want jazz.
Ada would like to have seen Rome. / Ada wants to have seen Rome.
Ada would like a dog if Bob agreed. / Ada wants a dog if Bob agreed.
Ada is the illustrator of Dune. / Ada illustrates Dune.
Ada is the illustrator of 12 books. / Ada illustrates 12 books.
Ada is a reader of law at Oxford. / Ada reads law at Oxford.
Ada is a supporter of two orphans. / I support two orphans.
Ada is the keeper of the museum. / Ada keeps the museum.
Ada is on lithium batteries. / Ada takes lithium batteries.
Ada is currently a vegan. / I am a vegan.
Ada works as a newly qualified nurse. / I am a newly qualified nurse.
Ada prefers tea over coffee. / Ada prefers coffee over tea.
Ada prefers tea over coffee. / Ada prefers tea over juice.
Ada prefers tea over coffee. / Ada prefers tea.
Ada preferred tea over coffee. / Ada prefers tea to coffee.
Ada prefers to walk over the hill. / Ada prefers to walk to the hill.
Ada prefers not tea over coffee. / Ada prefers tea to coffee.
Ada is learning to play the piano. / Ada plays the piano.
Ada is learning how to play the piano. / Ada is learning to play the violin.
Ada is learning how Bob plays. / Ada is learning to play.
Ada wants to learn how to surf. / Ada wants to surf.
Ada learned how to surf. / Ada is learning to surf.
My girlfriend's name is Ingrid. / Ada's sister is Ingrid.
My girlfriend's name is Ingrid. / Ada's girlfriend's sister is Ingrid.
My girlfriend's dog's name is Rex. / Ada's dog is called Rex.
User owns a cat named Tilda. / Ada has a cat called Bea.
User owns a cat named Tilda. / Ada has a cat.
User owns a cat named Tilda. / Ada has a dog called Tilda.
User owns a shop named Tilda. / Ada has a shop called Tilda.
My height is 185 cm. / Ada is 158 cm tall.
My height is 185 cm. / Ada is 185 mm tall.
Ada's son's height is 185 cm. / Ada is 185 cm tall.
Ada is 34 years of age. / Ada is 43 years old.
Ada's son is 34 years of age. / Ada is 34 years old.
Ada's age is 34. / Ada's shoe size is 34.
Ada has gluten intolerance. / Ada is lactose intolerant.
Ada has no lactose intolerance. / Ada is lactose intolerant.
Ada had lactose intolerance. / Ada is lactose intolerant.
Ada has religious intolerance. / Ada is religious intolerant.
Ada is a graduate of Yale. / Ada works at Yale.
Ada is a graduate student of Yale. / Ada graduated from Yale.
Ada is no graduate of Yale. / Ada graduated from Yale.
My favourite film is Alien. / Ada's favourite movie is Aliens.
My favourite film director is Scott. / Ada's favourite movie is Scott.
Ada primarily programs in Python. / Ada only programs in Python.
Ada mainly programs in Python. / Ada rarely programs in Python.
Ada mainly programs in Python. / Ada programs in Python.
Ada typically cycles to work. / Ada always cycles to work.
Ada typically cycles to work. / Ada cycles to work.
Ada takes iron each morning. / Ada takes iron every evening.
Ada takes iron each morning. / Ada takes iron in the morning.
Ada has a room with each kid. / Ada has a room with every kid.
I weigh 210 lbs. / Ada weighs 210 kg.
I weigh 210 lbs. / Ada weighs 201 pounds.
Ada's bike's weight is 21 pounds. / Ada weighs 21 pounds.
Ada's target weight is 80 kg. / Ada weighs 80 kg.
Ada's weight was 80 kg. / Ada weighs 80 kg.
Ada weighs 80 kilos of flour. / Ada weighs 80 kg.
My favourite band is Television. / Ada's favourite band is TV.
Ada's cell phone is a Pixel. / Ada's phone is a Pixel.
My supervisor is Prof. Lee. / Ada's supervisor is Dr. Lee.
My supervisor is Prof. Lee. / Ada's professor is Lee.
I have two younger brothers. / Ada has 3 younger brothers.
I have two younger brothers. / Ada has two older brothers.
I have two younger brothers. / Ada has two younger sisters.
I have two brothers. / Ada has two younger brothers.
Ada's goat has two kids. / My goat has two children.
Ada wants two kids. / Ada has two children.
Ada's brother has three kids. / Ada has three children.
Ada's husband is called Tom. / Ada's partner is called Tom.
Ada's spouse is Tom. / Ada's husband is Tom.
Ada's stepmother lives in Rome. / Ada's mother lives in Rome.
Ada's mother-in-law lives in Rome. / Ada's mother lives in Rome.
Ada's mother superior lives in Rome. / Ada's mom superior lives in Rome.
Ada's mother tongue is Dutch. / Ada's mom tongue is Dutch.
Ada's father figure is Tom. / Ada's dad figure is Tom.
Ada's godfather lives in Rome. / Ada's father lives in Rome.
Ada's grandma lives in Rome. / Ada's mum lives in Rome.
Ada's rent is 900 euros per month. / Ada's rent is 900 euros per week.
Ada's rent is 900 euros per month. / Ada's rent is 900 dollars a month.
Ada's blood pressure is 140 over 90. / Ada's blood pressure is 90/140.
Ada's blood pressure was 140 over 90. / Ada's blood pressure is 140/90.
Ada's score is 140 over 90. / Ada's score is 140/90.
Ada's mother works as a nurse. / Ada is a nurse.
Ada's mother works as a singer. / Ada's mother is a singer.
Ada's mother works with a nurse. / Ada's mother is a nurse.
Ada's major is economics. / Ada studies economics.
Ada's major concern is economics. / Ada majors in economics.
Ada majored in economics. / Ada majors in economics.
Ada has a Hulu subscription. / Ada had a Hulu subscription.
Ada has a Hulu subscription. / Ada has a Disney subscription.
Ada has no Hulu subscription. / Ada subscribes to Hulu.
Ada has a Hulu subscription box. / Ada subscribes to Hulu.
Ada is on a low-carb diet. / Ada is on a low-fat diet.
Ada is on a diet. / Ada follows a strict diet.
Ada was on a low-carb diet. / Ada follows a low-carb diet.
Ada is saving money. / Ada is saving for a camera.
Ada is saving seats for Bob. / Ada is saving for Bob.
Ada saved up for a camera. / Ada is saving for a camera.
Ada attends the University of Lagos choir. / Ada studies at the University of Lagos.
Ada attended Yale University. / Ada studies at Yale University.
Ada attends Rome. / Ada studies at Rome.
Ada works at Yale University. / Ada studies at Yale University.
Ada is a former student at Yale University. / Ada studies at Yale University.
Ada is a non-smoker. / Ada smokes.
Ada is not a smoker. / Ada did not smoke.
Ada's son is a non-smoker. / Ada does not smoke.
Ada does not smoke salmon. / Ada does not smoke.
Ada does work at the library. / Ada volunteers at the library.
Ada takes the tram to work. / Ada takes the tram to Rome.
Ada takes the tram to work. / Ada goes to work by train.
Ada takes the tram. / Ada goes to work by tram.
Ada takes Bob to work. / Ada goes to work by Bob.
Ada drives the tram to work. / Ada goes to work by tram.
Ada goes jogging three times a week. / Ada jogs twice a week.
Ada goes jogging. / Ada likes jogging.
Ada goes shopping. / Ada goes hiking.
Ada goes dancing at the opera. / Ada dances at the opera.
Ada went jogging. / Ada jogs.
Ada goes to the gym at 6 am. / At 6 pm Ada goes to the gym.
At 6 am Ada wanted to go. / Ada wanted to go at 6 am.
Three times a week Ada plans to swim. / Ada plans to swim three times a week.
In the evenings, Ada plays chess. / Ada plays chess in the evening.
User plays keyboard at church. / Ada plays the keyboard in church.
User plays bass lines. / Ada plays the bass lines.
Ada plays guitar heroes. / Ada plays the guitar heroes.
Ada is learning piano. / Ada is learning the violin.
Ada wears a size L. / Ada wears size M.
Mushroom risotto is Ada's boss. / Ada's boss is mushroom risotto.
Mushroom risotto is Bob's favourite dish. / Ada's favourite dish is mushroom risotto.
Mushroom risotto is Ada's favourite dish. / Ada's favourite dish is risotto.
Fish and chips is Ada's favourite dish. / Ada's favourite dish is chips.
User takes on roles are new. / I take on roles are new.
User takes on roles. / I take on roles.
User uses cases fail. / I use cases fail.
User volunteers train on Mondays. / I volunteer train on Mondays.
User works night and day are hers. / I work night and day are hers.
User plans to Rome. / I plan to Rome.
Ada's exams plan is long. / My exams plan is long for Bob.
Ada's parents visited Rome. / Ada's parents visit Rome.
I live on Main St. Bob lives in Rome. / Ada lives on Main St. Bob lives in Rome.
I built my house. / Ada built her house.
I built my own house. / Ada built her house.
I built my own house. / Bob built his own house.
I take my coffee black. / Ada takes your coffee black.
I take my coffee cup home. / Ada takes her coffee cup home.
I take my coffee black. / Ada takes her coffee white.
I broke my wrist. / Ada broke her wrist.
I broke my wrist. / Ada broke his wrist.
I hurt my knee. / Ada hurt his knee.
I sprained my ankle. / Ada sprained her wrist.
I sprained my ankle. / Ada saw her ankle.
User broke their promise. / I broke my promise.
User likes their music. / I like my music.
User uses their app. / I use my app.
User feeds their dog. / I feed my dog.
User visited their website. / I visited my website.
User works in their kitchen. / I work in my kitchen.
User met them in their garden. / I met them in my garden.
User lives with their aunt. / I live with my uncle.
User lives with their aunt. / Ada lives with her aunt.
Ada lives with their aunt. / I live with my aunt.
User knows Bob and calls their parents. / I know Bob and call my sister.
"""


@each(("one", "other"), pairs(SAME))
def test_what_is_written_in_two_ways_is_one(one: str, other: str) -> None:
    assert joined(one, other, NAMES)


@each(("one", "other"), pairs(DIFFERENT))
def test_what_says_another_thing_stays_apart(one: str, other: str) -> None:
    assert not joined(one, other, NAMES)


def test_of_an_owner_without_names_nothing_is_written_otherwise() -> None:
    """But for what the table of edits has for everybody."""
    assert [pair for pair in pairs(SAME) if joined(*pair, ())] == []


WHO = ("Ada", "I", "The user", "User", "My son")
SAYS = (
    " was born on March 14",
    " works as a nurse at Rome",
    " is a nurse at Rome as a nurse",
    " speaks German, English and French",
    " enjoys going to wake at 6:00 AM",
    " prefers tea over coffee over water",
    " runs two times per week per month",
    " has got got a cat",
    " is currently currently reading",
    " pays $2,000,000 per week every Monday",
    "'s job is nurse",
)


@given(st.sampled_from([*product(WHO, SAYS)]), st.text(max_size=20))
def test_what_is_written_in_one_way_is_written_so_once(parts: tuple[str, str], more: str) -> None:
    for text in ("".join(parts), "".join(parts) + more, more + "".join(parts)):
        assert as_written(as_written(text)) == as_written(text)
        once = called_alike(text, NAMES)
        assert once is None or called_alike(once, NAMES) == once
