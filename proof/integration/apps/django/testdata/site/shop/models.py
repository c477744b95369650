"""What the site keeps."""

from django.db import models


class Invoice(models.Model):
    """An invoice, without anything that would stop a second one like it."""

    customer = models.CharField(max_length=80)
    amount = models.DecimalField(max_digits=10, decimal_places=2)
    state = models.CharField(
        max_length=10, choices=[("open", "Open"), ("paid", "Paid")], default="open"
    )
    note = models.TextField(blank=True)
    scan = models.FileField(upload_to="scans", blank=True)
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self):
        return f"{self.customer}: {self.amount}"
