import pg from 'pg'
import type { ClientConfig } from 'pg'

/**
 * A connection whose errors somebody hears from its first byte on. The server may end it at any moment, also in the one in
 * which the pool hands it out and listens no more: an `error` that nobody hears would end the process. What the connection
 * was asked for fails all the same.
 */
export class HeardClient extends pg.Client {
  constructor(config?: string | ClientConfig) {
    super(config)
    this.on('error', () => {})
  }

  /** Ends the connection under whatever it is asked for, which fails: `end` waits for that. */
  cut(): void {
    this.connection.stream.destroy()
  }
}
