"""HL7 FHIR: a model as an adaptive questionnaire of the Structured Data Capture guide.

``questionnaires``: a Questionnaire made from a model and its dictionary. ``answers``: values as FHIR writes them.
``responses``: the operation ``$next-question``, a QuestionnaireResponse in, the same with the next question out.
``routes``: all of it over HTTP, under ``/fhir``.

The resources are those of FHIR R4 (and R4B, which is the same here). Nothing is stored: a QuestionnaireResponse carries
all answers, and the case is made from them again.
"""

from etana.service.fhir.routes import fhir_routes

__all__ = ["fhir_routes"]
