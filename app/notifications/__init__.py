"""Who is told of which event: kinds, recipients, the list of each person, mail, webhooks; questions to organisers."""
