import { ConfigError } from 'everthread'
import { serveThreads } from 'everthread/server'
import type { ServeThreadsOptions, ThreadServer } from 'everthread/server'

/** Serves threads on this port, or on a free one if it is taken. */
export async function listen(options: ServeThreadsOptions): Promise<ThreadServer> {
  try {
    return await serveThreads(options)
  } catch (error) {
    // A port that is taken is a ConfigError. Any other one comes again on a free port.
    if (!ConfigError.isInstance(error)) throw error
    return serveThreads({ ...options, port: 0 })
  }
}
