"""How the site's people see what it keeps."""

from django.contrib import admin

from .models import Invoice


@admin.register(Invoice)
class InvoiceAdmin(admin.ModelAdmin):
    """The admin's own pages for invoices."""

    list_display = ["customer", "amount", "state", "created"]
    list_filter = ["state"]
    list_per_page = 20
    search_fields = ["customer", "note"]
