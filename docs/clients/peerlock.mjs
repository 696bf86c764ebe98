// A client of `peerlock serve --api`, for Node 18 or newer, without packages.
//
//   const session = await Session.open("unix:/run/peerlock.sock", {label: "billing-3"});
//   await session.hold("invoices", async ({fence, signal}) => { … });
//   await session.close();
//
// `signal` is aborted when the lock is lost, also if the server does not answer any more:
// pass it to whatever can be cancelled.

import http from "node:http";
import https from "node:https";
import {setTimeout as pause} from "node:timers/promises";

const AGAIN = 100;  // milliseconds before a request is repeated whose connection broke

// In milliseconds.  The first may be set; the second may stand still while the machine is
// suspended: a deadline has passed when it has on either.
const clocks = () => [Date.now(), performance.now()];

export class Lost extends Error {}

export class Refused extends Error {}

export class Session {
  #where; #headers; #agent; #secure; #tls; #id; #renewing; #watching;
  #claims = 0;
  #deadline;  // on both clocks; we count from before a request was sent
  #grants = new Map();
  ended = null;  // why

  // where: unix:PATH, or https://HOST:PORT, or http://HOST:PORT on this machine.
  static async open(where, {ttl = 10, label = "", token = "", tls = {}} = {}) {
    const session = new Session();
    session.ttl = ttl;
    session.#secure = where.startsWith("https:");
    session.#where = where.startsWith("unix:")
      ? {socketPath: where.slice("unix:".length)}
      : {host: new URL(where).hostname, port: new URL(where).port};
    session.#tls = tls;
    session.#headers = token ? {Authorization: `Bearer ${token}`} : {};
    const transport = session.#secure ? https : http;
    session.#agent = new transport.Agent({keepAlive: true});
    await session.#listen("POST", "/v1/sessions", {ttl, label});
    session.#renewing = setInterval(() => session.#renew(), 1000 * ttl / 3);
    session.#watching = setInterval(() => session.#watch(), Math.min(100, 100 * ttl));
    return session;
  }

  // Resolves when the lock is held: {key, name, fence, signal}.  Each call makes a claim of
  // its own, so calls of one session exclude each other, too.
  async acquire(name, {key = `${++this.#claims}`, ...wanted} = {}) {
    if (this.#grants.has(key)) throw new Refused(`the key ${key} is in use`);
    const abort = new AbortController();
    const grant = {key, name, fence: 0, signal: abort.signal, abort};
    this.#grants.set(key, grant);
    try {
      for (;;) {
        const {status, value} = await this.#insist("PUT", this.#path(key), {name, ...wanted});
        if (status === 200) {
          grant.fence = value.fence;
          return grant;
        }
        if (status !== 202) throw new Refused(value.error ?? value.state);
      }
    } catch (error) {
      if (error instanceof Refused) await this.#insist("DELETE", this.#path(key)).catch(() => {});
      this.#grants.delete(key);
      throw error;
    }
  }

  async release({key, name}) {
    this.#grants.delete(key);
    const {status} = await this.#insist("DELETE", this.#path(key));
    if (status === 410) throw new Lost(`${name} was lost while it was held`);
  }

  async hold(name, work, wanted = {}) {
    const grant = await this.acquire(name, wanted);
    try {
      return await work(grant);
    } finally {
      await this.release(grant);
    }
  }

  async close() {
    if (!this.ended) await this.#ask("DELETE", `/v1/sessions/${this.#id}`).catch(() => {});
    this.#end("closed");
  }

  // Inside

  #path(key) {
    return `/v1/sessions/${this.#id}/locks/${encodeURIComponent(key)}`;
  }

  #end(why) {
    if (this.ended) return;
    this.ended = why;
    clearInterval(this.#renewing);
    clearInterval(this.#watching);
    this.#agent.destroy();
    this.stream?.destroy();
    for (const grant of this.#grants.values()) grant.abort.abort(new Lost(why));
  }

  async #renew() {
    const answer = this.#ask("POST", `/v1/sessions/${this.#id}/renew`);
    const {status} = await answer.catch(() => ({}));  // the next one may be answered
    if (status === 404) this.#end("the session has expired");
  }

  // A request that is never answered does not fail: so the deadline is watched.
  #watch() {
    const now = clocks();
    if (now.some((time, i) => time > this.#deadline[i])) this.#end("the server does not answer");
  }

  // A tenth of the time to live is left for the work to stop.
  #answered(sent) {
    this.#deadline = sent.map(time => time + 900 * this.ttl);
  }

  // The same request until it is answered: it has kept its place in the queue.
  async #insist(method, path, body) {
    for (;;) {
      if (this.ended) throw new Lost(this.ended);
      try {
        const answer = await this.#ask(method, path, body);
        if (answer.status !== 404) return answer;
        if (method === "DELETE") return answer;  // an earlier one had arrived
        throw new Lost(answer.value.error);
      } catch (error) {
        if (error instanceof Lost) throw error;
        await pause(AGAIN);
      }
    }
  }

  #request(method, path, body, headers, answered, failed) {
    const data = body === undefined ? "" : JSON.stringify(body);
    const request = (this.#secure ? https : http).request({
      ...this.#where, ...this.#tls, method, path,
      agent: headers.Accept ? false : this.#agent,  // a stream has its own connection
      headers: {...this.#headers, ...headers, "Content-Length": Buffer.byteLength(data)},
    }, answered);
    request.on("error", failed);
    request.end(data);
  }

  #ask(method, path, body) {
    return new Promise((resolve, reject) => {
      const sent = clocks();
      this.#request(method, path, body, {}, response => {
        let text = "";
        response.setEncoding("utf8").on("data", more => { text += more; });
        response.on("error", reject).on("end", () => {
          if (response.statusCode < 400) this.#answered(sent);
          resolve({status: response.statusCode, value: JSON.parse(text)});
        });
      }, reject);
    });
  }

  // Open the stream of events; resolves when it has begun.
  #listen(method, path, body) {
    return new Promise((resolve, reject) => {
      const sent = clocks();
      this.#request(method, path, body, {Accept: "text/event-stream"}, stream => {
        if (stream.statusCode !== 200) {
          stream.resume();
          reject(new Refused(`the server answers ${stream.statusCode}`));
          return;
        }
        this.#answered(sent);
        this.stream = stream;
        let text = "", broken = reject;
        const begun = () => { broken = () => this.#broken(); resolve(); };
        stream.setEncoding("utf8").on("data", more => {
          const events = (text + more).split("\n\n");
          text = events.pop();
          for (const event of events) this.#hear(event, begun);
        });
        stream.on("error", () => {}).on("close", () => broken(new Error("it broke")));
      }, reject);
    });
  }

  #hear(text, begun) {
    const event = /^event: (.*)\ndata: (.*)$/.exec(text);
    if (!event) return;  // a sign of life
    const value = JSON.parse(event[2]);
    if (event[1] === "session") {
      this.#id = value.session;
      for (const lock of value.locks) this.#notice(lock);
      begun();
    } else if (event[1] === "end") {
      this.#end(value.reason);
    } else {
      this.#notice(value);
    }
  }

  #notice({key, name, state}) {
    if (state === "lost") this.#grants.get(key)?.abort.abort(new Lost(`${name} was lost`));
  }

  // On a Unix socket the session is tied to the stream; elsewhere it is opened again.
  async #broken() {
    if (this.#where.socketPath) this.#end("the server has ended");
    while (!this.ended) {
      try {
        return await this.#listen("GET", `/v1/sessions/${this.#id}/events`);
      } catch (error) {
        if (error instanceof Refused) return this.#end("the session has expired");
        await pause(AGAIN);
      }
    }
  }
}
