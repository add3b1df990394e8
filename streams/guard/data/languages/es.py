"""Spanish. Months and weekdays are those of CLDR. *La* may begin a name."""

from __future__ import annotations

from palimpsest.streams.guard.data.language_table import EditPairs, language_table

TABLE = language_table(
    "es",
    words=(
        "tengo el la los las un una unos unas y o que es en por con para su sus del al se lo le "
        "les no muy pero como más mi mis tu está están fue ser tiene vive casa todos cada cuando "
        "donde sin sobre entre de a ha han he yo él ella ellos ellas nosotros desde nunca "
        "nada nadie tampoco hay soy son era me te nos gusta bebe come trabaja habla juega hoy "
        "ayer mañana años"
    ),
    numbers=(
        "dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10 once=11 doce=12 "
        "veinte=20 treinta=30 cuarenta=40 cincuenta=50"
    ),
    number_parts=(
        "cien ciento mil millón millones coma y horas hora veces medio media menos más andén aula"
        " autobús bloque equipo"
        " grupo habitación oficina temporada turno calle clase"
        " línea nivel número página piso puerta sala tren zona"
    ),
    months=(
        "enero ene",
        "febrero feb",
        "marzo mar",
        "abril abr",
        "mayo may",
        "junio jun",
        "julio jul",
        "agosto ago",
        "septiembre setiembre sept",
        "octubre oct",
        "noviembre nov",
        "diciembre dic",
    ),
    days=("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
    negators="no nunca jamás nada nadie ningún ninguno ninguna sin tampoco ni",
    starts="yo mi mis el los un una ellos nosotros desde cada",
    edits={
        "number": EditPairs(
            passes=(
                ("Ada tiene tres perros y un gato.", "Ada tiene 3 perros y un gato."),
                (
                    "Mi hermana vive en Lima desde hace dos años",
                    "Mi hermana vive en Lima desde hace 2 años.",
                ),
            ),
            fails=(
                ("Ada tiene tres perros.", "Ada tiene 4 perros."),
                ("Su grupo se llama los tres amigos.", "Su grupo se llama los 3 amigos."),
                ("Su grupo se llamaba los tres amigos.", "Su grupo se llamaba los 3 amigos."),
                ("El nombre de su grupo es dos perros.", "El nombre de su grupo es 2 perros."),
                ("Tiene dos millones de libros.", "Tiene 2 libros."),
                ("Vive con once amigos en el sur.", "Vive con 12 amigos en el sur."),
                ("Sale a las tres horas con ella.", "Sale a las 3 horas con ella."),
                ("No tiene tres perros en casa.", "Tiene 3 perros en casa."),
                ("Vive en la calle dos años y no sale.", "Vive en la calle 2 años y no sale."),
                ("Está en el grupo tres días con ella.", "Está en el grupo 3 días con ella."),
                ("Está en la mesa tres días con ella.", "Está en la mesa 3 días con ella."),
                ("Vive en la plaza dos Amigos.", "Vive en la plaza 2 Amigos."),
                ("Vive en Rua dos Anjos con su gato.", "Vive en Rua 2 Anjos con su gato."),
                ("Trabaja en la once desde hace años.", "Trabaja en la 11 desde hace años."),
            ),
        ),
        "month": EditPairs(
            passes=(
                (
                    "Vive en Lima desde el 3 de ene. de 1990.",
                    "Vive en Lima desde el 3 de enero de 1990.",
                ),
            ),
            fails=(
                (
                    "Vive en Lima desde el 3 de mar. de 1990.",
                    "Vive en Lima desde el 3 de mayo de 1990.",
                ),
                ("Vive en Lima desde ene. de 1990.", "Vive en Lima desde enero de 1990."),
            ),
        ),
        "start": EditPairs(
            passes=(("mi hermana vive en Lima.", "Mi hermana vive en Lima."),),
            fails=(
                ("la Paz está en el sur.", "La Paz está en el sur."),
                ("el Salvador está en el cielo.", "El Salvador está en el cielo."),
                ("los Ángeles están en el cielo.", "Los Ángeles están en el cielo."),
                ("ella canta en el bar.", "Ella canta en el bar."),
                ("Vive en la Paz con su hermana.", "Vive en La Paz con su hermana."),
                ("es mi hermana con su gato", "Es mi hermana con su gato"),
            ),
        ),
    },
)
"""What the guard knows of Spanish."""
