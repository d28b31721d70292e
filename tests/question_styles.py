"""Sound multiple-choice questions as different authors write them, each with the place of its key."""

from __future__ import annotations

from typing import NamedTuple


class StyledQuestion(NamedTuple):
    """A question, its options, the letter of its key, and its explanation."""

    stem: str
    options: tuple[str, ...]
    key: str
    explanation: str


def _styled(stem: str, options: str, key: str, explanation: str) -> StyledQuestion:
    return StyledQuestion(stem, tuple(options.split(" | ")), key, explanation)


IN_WORDS = (
    _styled(
        "A baker fills 6 trays with 9 buns each and sells 20 buns. How many buns are left?",
        "20 | 34 | 54 | 74 | 15", "B",
        "Six trays of nine buns are 54 buns. After 20 of them are sold, 34 buns are left.",
    ),
    _styled(
        "Nia walks for 3 hours at 4 km per hour and then 5 km more. How far does she walk?",
        "12 km | 17 km | 27 km | 60 km", "B",
        "She walks 12 km in the first three hours, and with 5 km more she has walked 17 km.",
    ),
    _styled(
        "A coat costs $80. In a sale it costs 25% less. What is the sale price?",
        "$20 | $55 | $60 | $75 | $105", "C",
        "A quarter of the price is taken off, which is $20, so one pays the remaining $60.\nAnswer: C",
    ),
    _styled(
        "Two numbers add up to 30 and differ by 4. What is the larger one?",
        "13 | 15 | 17 | 26", "C",
        "If both were equal each would be 15. One is 2 above that and the other 2 below, so the larger one is 17.",
    ),
    _styled(
        "A train is 120 m long and passes a pole in 6 seconds. How fast is it, in metres per second?",
        "10 | 12 | 20 | 60 | 72", "C",
        "It covers its own length in that time. 120 divided by 6 is 20, therefore its speed is 20 metres per second.",
    ),
    _styled(
        "Of 40 students 60% are girls. How many are boys?",
        "12 | 16 | 20 | 24", "B",
        "60% of 40 are 24 girls. The others are boys, which leaves 16.",
    ),
    _styled(
        "A tap fills a tank in 4 hours, another in 12 hours. How long do both take together?",
        "2 hours | 3 hours | 6 hours | 8 hours | 16 hours", "B",
        "In one hour they fill 1/4 and 1/12 of the tank, which is 1/3. So the tank is full after 3 hours.",
    ),
    _styled(
        "How many full boxes of 8 can be packed with 60 pens?",
        "6 | 7 | 8 | 9", "B",
        "60/8 = 7.5, and only full boxes count.\nANSWER: B",
    ),
)  # fmt: skip

MISPRINTED = (
    _styled(
        "The mean of 10 and 20 is",
        "5 | 12 | 15 | 20 | 30", "C",
        "Mean = 10 + 20 / 2 = 15\nAnswer: C",
    ),
    _styled(
        "A square has sides of 12 cm. What is its area in square cm?",
        "24 | 48 | 124 | 144 | 1728", "D",
        "Area = side2 = 122 = 144\nAnswer is D",
    ),
    _styled(
        "The legs of a right triangle are 6 and 8. How long is the third side?",
        "7 | 10 | 12 | 14 | 100", "B",
        "62 + 82 = 36 + 64 = 100, and the root of 100 is 10. Option B",
    ),
    _styled(
        "What percent of 60 is 45?",
        "15% | 45% | 60% | 75% | 133%", "D",
        "45/60 * 100 = 75%\nCorrect option: D",
    ),
    _styled(
        "A shop buys at Rs. 80 and sells at Rs. 100. What is the gain percent?",
        "20% | 25% | 80% | 120%", "B",
        "Gain = 100 - 80 = 20\nGain% = 20/80 x 100 = 25\nANSWER:B",
    ),
    _styled(
        "What is 2 to the power of 5?",
        "10 | 16 | 25 | 32 | 64", "D",
        "25 = 2 x 2 x 2 x 2 x 2 = 32. D",
    ),
    _styled(
        "Rs. 5000 at 4% simple interest for 3 years earns",
        "Rs. 200 | Rs. 400 | Rs. 600 | Rs. 5600", "C",
        "S.I. = 5000*4*3/100 = 600. So the answer is C",
    ),
    _styled(
        "The price of a phone rises from 200 to 250. The rise in percent is",
        "20 | 25 | 50 | 80 | 125", "B",
        "250 - 200/200*100 = 25%\nB",
    ),
    _styled(
        "Simplify (15 + 25) x 3.",
        "40 | 75 | 90 | 120", "D",
        "15 + 25 x 3 = 120",
    ),
)  # fmt: skip

WITH_ASIDES = (
    _styled(
        "What is 6 × 7?",
        "13 | 36 | 42 | 48", "C",
        "Six groups of seven are 42. D is what you get for 6 × 8 = 48, and A if you add: 6 + 7 = 13.",
    ),
    _styled(
        "What is 48 ÷ 6?",
        "6 | 7 | 8 | 9", "C",
        "6 × 8 = 48, so 48 ÷ 6 = 8. A common mistake is to count down and stop at 9.",
    ),
    _styled(
        "A rectangle is 5 m by 3 m. What is its area?",
        "8 m² | 15 m² | 16 m² | 30 m²", "B",
        "Area is length times width: 5 × 3 = 15.\nCheck: five rows of 3 squares are 3 + 3 + 3 + 3 + 3 = 15.",
    ),
    _styled(
        "Solve 3x + 4 = 19.",
        "x = 3 | x = 5 | x = 7 | x = 15", "B",
        "Take 4 from both sides: 3x = 15. Divide by 3: x = 5.\nCheck: 3 × 5 + 4 = 19.",
    ),
    _styled(
        "Ada is 12 and her mother is three times as old. How old is her mother?",
        "15 | 24 | 36 | 48", "C",
        "Three times 12 is 36. If you chose 15, you added 3 instead of multiplying.",
    ),
    _styled(
        "Which of these numbers is NOT a multiple of 4?",
        "12 | 18 | 20 | 28", "B",
        "12 = 4 × 3, 20 = 4 × 5 and 28 = 4 × 7 are multiples of 4. 18 is not, because 18 ÷ 4 leaves a remainder of 2.",
    ),
    _styled(
        "Which of these is NOT equal to one half?",
        "2/4 | 3/5 | 4/8 | 5/10", "B",
        "2/4, 4/8 and 5/10 all come to one half. In 3/5 the top is more than half of the bottom.",
    ),
    _styled(
        "Which fraction is the largest?",
        "1/2 | 2/3 | 3/5 | 7/12", "B",
        "Over 60 they are 30/60, 40/60, 36/60 and 35/60. The largest is 40/60, which is 2/3.",
    ),
)  # fmt: skip

IN_NOTATION = (
    _styled(
        "Evaluate $\\frac{3}{4} + \\frac{1}{8}$.",
        "$\\frac{4}{12}$ | $\\frac{1}{2}$ | $\\frac{7}{8}$ | $\\frac{5}{4}$", "C",
        "$\\frac{3}{4} = \\frac{6}{8}$, so the sum is $\\frac{6}{8} + \\frac{1}{8} = \\frac{7}{8}$.",
    ),
    _styled(
        "What is $2^3 \\times 5$?",
        "$30$ | $40$ | $50$ | $1000$", "B",
        "$2^3 = 8$ and $8 \\times 5 = 40$.",
    ),
    _styled(
        "Three pens cost $4.50. What does one pen cost?",
        "$0.67 | $1.25 | $1.50 | $13.50", "C",
        "$4.50 ÷ 3 = $1.50.",
    ),
    _styled(
        "How many centimetres are 2.4 metres?",
        "0.024 | 24 | 240 | 2,400", "C",
        "A metre has 100 cm, so 2.4 × 100 = 240.",
    ),
    _styled(
        "A film lasts 135 minutes. How long is that?",
        "1 h 35 min | 2 h 5 min | 2 h 15 min | 2 h 35 min", "C",
        "Two hours are 120 minutes. 135 − 120 = 15, so it lasts 2 h 15 min.",
    ),
    _styled(
        "Write 0.375 as a fraction.",
        "3/5 | 3/8 | 3/75 | 37/5", "B",
        "0.375 = 375/1000. Dividing both by 125 gives 3/8.",
    ),
    _styled(
        "The ratio of red to blue beads is 2:3. There are 10 red beads. How many beads are there in all?",
        "12 | 15 | 20 | 25 | 30", "D",
        "10 red beads are 2 parts, so a part is 5 beads. There are 5 parts: 5 × 5 = 25.",
    ),
    _styled(
        "What is -7 + 12?",
        "-19 | -5 | 5 | 19", "C",
        "Start at -7 and go 12 to the right: you pass 0 and come to 5.",
    ),
    _styled(
        "True or false: 17 is a prime number.",
        "True | False", "A",
        "17 has no divisors but 1 and 17.",
    ),
    _styled(
        "What is the capital of Australia?",
        "Sydney | Canberra | Melbourne | Perth", "B",
        "Sydney is the largest city, but the capital is Canberra.",
    ),
    _styled(
        "Which number comes next: 2, 4, 8, 16, …?",
        "18 | 20 | 24 | 28 | 30 | 32 | 36 | 40 | 48 | 64", "F",
        "Each number is twice the one before, so next comes 2 × 16 = 32.",
    ),
    _styled(
        "A pool is 25 m long. How many lengths make 1 km?",
        "4 | 25 | 40 | 400", "C",
        "1 km = 1,000 m. 1,000 ÷ 25 = 40 lengths.",
    ),
    _styled(
        "If x + y = 10 and x - y = 4, what is x?",
        "3 | 5 | 7 | 14", "C",
        "Adding both: 2x = 14, so x = 7. Then y = 10 - 7 = 3.",
    ),
    _styled(
        "A die is rolled. What is the probability of a number above 4?",
        "1/6 | 1/3 | 1/2 | 2/3", "B",
        "Two of the six numbers, 5 and 6, are above 4, so the probability is 2/6 = 1/3.",
    ),
    _styled(
        "Sam has $50 and buys 3 books at $12 each. How much money does he have left?",
        "$12 | $14 | $36 | $38", "B",
        "The books cost 3 × $12 = $36. He has $50 − $36 = $14 left.",
    ),
    _styled(
        "How many hours is it from 9:30 a.m. to 2:00 p.m.?",
        "3.5 | 4.5 | 5.5 | 7.5", "B",
        "To noon it is 2.5 hours, and 2 hours more to 2:00 p.m.: 2.5 + 2 = 4.5.",
    ),
)  # fmt: skip

BESIDE_THE_WAY: tuple[StyledQuestion, ...] = (
    _styled(
        "A jar holds 3 red, 7 blue and 5 white buttons. What is the probability of a white one?",
        "1/5 | 1/3 | 5/10 | 7/15 | 1/2", "B",
        "5 of the 3 + 7 + 5 = 15 buttons are white, so P = 5/15 = 1/3.",
    ),
    _styled(
        "The ages of 5 girls average 8 years; a sixth girl of 14 joins them. What is the average now?",
        "8.5 years | 9 years | 9.5 years | 11 years | 22 years", "B",
        "Before: 5 × 8 = 40. After: 40 + 14 = 54 for 6 girls, which is 9 years each.",
    ),
    _styled(
        "How many square numbers are there between 30 and 90?",
        "2 | 3 | 4 | 5 | 6", "C",
        "They are 36, 49, 64 and 81. Note that 40 = 5 × 8, 54 = 6 × 9 and 72 = 8 × 9 are no squares.",
    ),
    _styled(
        "What are the solutions of x² − 7x + 10 = 0?",
        "1 and 10 | 2 and 5 | −2 and −5 | −1 and 10 | 7 and 10", "B",
        "By the quadratic formula, x = (7 ± √(49 − 40))/2 = (7 ± 3)/2, so x = 5 or x = 2.",
    ),
    _styled(
        "How many solutions does |x − 2| = 6 have, and what is their sum?",
        "one, 8 | two, 4 | two, 8 | one, 2 | two, −4", "B",
        "x − 2 = 6 gives x = 8 and x − 2 = −6 gives x = −4. Two solutions; 8 + (−4) = 4.",
    ),
    _styled(
        "What is the remainder of 29 ÷ 6?",
        "3 | 4 | 5 | 6 | 24", "C",
        "29 = 4 × 6 + 5, so the remainder is 5. (The quotient would be 4, and 4 × 6 is 24.)",
    ),
    _styled(
        "Which expression equals 3(x + 2) + 5?",
        "3x + 7 | 3x + 11 | 3x + 10 | 3x + 6 | 8x + 2", "B",
        "Three times x + 2 is 3x + 6. Plus 5 makes 3x + 11. Try it with x = 1: 3(3) + 5 = 14 and 3 + 11 = 14.",
    ),
    _styled(
        "Each boat takes 6 children and a guide. How many guides go with 42 children?",
        "6 | 7 | 8 | 36 | 42", "B",
        "42 children fill seven boats of six, and each of those needs one guide.",
    ),
    _styled(
        "A sequence starts at 50 and each term is 6 less than the one before. Which is the first negative term?",
        "−1 | −2 | −4 | −6 | −8", "C",
        "After 8 steps we are at 50 − 48 = 2, after 9 at −4.",
    ),
    _styled(
        "Seven lessons of 40 minutes begin at 8:20, with breaks of 5 minutes between them. When do they end?",
        "1:00 | 1:20 | 1:30 | 1:35 | 1:40", "C",
        "7 × 40 = 280 minutes of lessons and 6 × 5 = 30 of breaks: 310 min, or 5 h 10 min. So it ends at 1:30.",
    ),
    _styled(
        "Which number is a perfect cube?",
        "25 | 48 | 64 | 81 | 100", "C",
        "4³ = 64. The neighbours 3³ = 27 and 5³ = 125 show that no other one is a cube: 25 is close to 3³ = 27.",
    ),
    _styled(
        "Which is equivalent to 20/35?",
        "2/3 | 4/7 | 4/5 | 5/7 | 3/5", "B",
        "Both can be divided by 5: 20 ÷ 5 = 4 and 35 ÷ 5 = 7.",
    ),
    _styled("What is 6! / 4!?", "2 | 12 | 24 | 30 | 360", "D", "6!/4! = (6·5·4!)/4! = 6·5 = 30"),
    _styled(
        "(1 + 2i)(3 − i) =",
        "3 − 2i | 5 + 5i | 1 + 5i | 5 − 5i | 3 + 6i", "B",
        "3 − i + 6i − 2i² = 3 + 5i + 2 = 5 + 5i, because i² = −1.",
    ),
    _styled(
        "What is 8 × 7 − 5?",
        "16 | 40 | 51 | 56 | 61", "C",
        "It is 56 − 5 = 51. A is 8 × 2. B is 8 × 5. D is 8 × 7 without the rest. For E the 5 is added.",
    ),
    _styled(
        "If f(x) = x² + 1 and g(x) = 3x, what is f(g(2))?",
        "15 | 19 | 36 | 37 | 39", "D",
        "g(2) = 6, and f(6) = 36 + 1 = 37. The other order, g(f(2)), would be 15.",
    ),
)  # fmt: skip

BESIDE_THE_WAY += (
    _styled(
        "The perimeter of a triangle with sides x, x + 5 and 2x − 3 is 34. Find x.",
        "7 | 8 | 9 | 10 | 12", "B",
        "x + (x + 5) + (2x − 3) = 34\n4x + 2 = 34\n4x = 32\nx = 8\nThe sides are 8, 13 and 13, and they add up to 34.",
    ),
    _styled(
        "Three numbers are in the ratio 1 : 3 : 5 and add up to 72. What is the middle one?",
        "8 | 18 | 24 | 27 | 40", "C",
        "Let them be x, 3x and 5x. Then 9x = 72, x = 8. The middle one is 3x = 24 (the largest is 40).",
    ),
    _styled(
        "How many 3-letter codes can be made from five letters without repetition?",
        "15 | 60 | 120 | 125 | 243", "B",
        "5 · 4 · 3 = 60. With repetition it would be 5³ = 125.",
    ),
    _styled(
        "How many hundreds are in 41,800?",
        "4.18 | 41 | 418 | 4,180 | 8", "C",
        "41,800 = 418 × 100. (The digit in the place of the hundreds is 8.)",
    ),
    _styled(
        "A square of 20 m is made 5 m longer on one side. How much area is gained?",
        "25 m² | 50 m² | 100 m² | 125 m² | 225 m²", "C",
        "Old area 20 · 20 = 400, new area 25 · 20 = 500, gain 100 m². (25² − 20² = 225 would be right for both sides.)",
    ),
)  # fmt: skip

BESIDE_THE_WAY += (
    _styled(
        "If y/5 = 8/20, then y =",
        "1 | 2 | 4 | 5 | 40", "B",
        "Simplify 8/20 to 2/5. As y/5 = 2/5, y = 2. Cross-multiplying works too: 20y = 40.",
    ),
    _styled(
        "A shop had 160 guests on Monday and 200 on Tuesday. What was the percent increase?",
        "20% | 25% | 40% | 80% | 125%", "B",
        "40 more guests came, and 40 is a quarter of 160.",
    ),
    _styled(
        "A circle is inscribed in a square with side 12. What is the area outside the circle?",
        "144 − 36π | 144 − 144π | 36π | 144 − 12π | 48 − 12π", "A",
        "The radius is 6. Its area is 36π, the square's is 144. Outside: 144 − 36π ≈ 30.9.",
    ),
    _styled(
        "Lou multiplies a number by 5, subtracts 8 and gets 42. What is the number?",
        "6 | 8 | 10 | 34 | 50", "C",
        "Go backwards:\n42 + 8 = 50\n50 / 5 = 10\n\n✔ 10 · 5 = 50, 50 − 8 = 42",
    ),
    _styled(
        "Which has the larger area: an 8 cm square or a 4 cm by 16 cm rectangle?",
        "the square | the rectangle | they are equal | it depends | neither", "C",
        "8 × 8 = 64 and 4 × 16 = 64. The areas are equal although the perimeters differ (32 cm and 40 cm).",
    ),
)  # fmt: skip

STYLES = {
    "in words": IN_WORDS,
    "misprinted": MISPRINTED,
    "with asides": WITH_ASIDES,
    "in notation": IN_NOTATION,
    "beside the way": BESIDE_THE_WAY,
}
