import "zone.js";
import "@angular/compiler";
import { HttpClient, HttpEventType, provideHttpClient } from "@angular/common/http";
import { Component, inject, provideZoneChangeDetection } from "@angular/core";
import { bootstrapApplication } from "@angular/platform-browser";
import { type Subscription } from "rxjs";
import { order, orders, show, type Order } from "./here.ts";

class App {
  private readonly http = inject(HttpClient);
  private sending: Subscription | undefined;
  private give: (() => void) | undefined;
  sent = "";

  create(): void {
    void show(new Promise<string>((resolve, reject) => {
      this.give = () => reject(new Error("stopped"));
      this.sending = this.http.post<Order>(orders, order, { reportProgress: true, observe: "events" }).subscribe({
        next: (event) => {
          if (event.type === HttpEventType.UploadProgress) this.sent = `${event.loaded}/${event.total}`;
          if (event.type === HttpEventType.Response) resolve(event.body!.id);
        },
        error: reject,
      });
    }));
  }

  stop(): void {
    this.sending?.unsubscribe();
    this.give?.();
  }
}

const Page = Component({
  selector: "body",
  template: `<button (click)="create()">Create</button> <button (click)="stop()">Stop</button> <output>{{ sent }}</output><ol></ol>`,
})(App);

await bootstrapApplication(Page as typeof App, { providers: [provideHttpClient(), provideZoneChangeDetection()] });
