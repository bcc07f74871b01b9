import type { ThreadClient } from 'everthread/client'

import { hashedNumber } from '../desk/hashed-number.js'
import { httpThreads } from './http-threads.js'
import type { Api } from './http-threads.js'
import type { Thread, Threads, Way } from './threads.js'

/** Half of all threads each, subagents too: by their ids, so that every process goes the same way. */
function wayOf(threadId: string): Way {
  return hashedNumber(`way ${threadId}`, 2) === 0 ? 'http' : 'client'
}

export function threadsByWay(client: ThreadClient, api: Api): Threads {
  const http = httpThreads(api)
  return {
    async create({ limits, ...thread }) {
      const overHttp = wayOf(thread.id) === 'http'
      // A thread with limits is made by the client, for HTTP has no field for them, and found again over HTTP.
      if (!overHttp || limits !== undefined) await client.create({ ...thread, ...(limits && { limits }) })
      if (overHttp) await http.create(thread)
    },
    get: (threadId) => (wayOf(threadId) === 'http' ? http.get(threadId) : byClient(client, threadId)),
    pending: () => client.pending(),
  }
}

function byClient(client: ThreadClient, threadId: string): Thread {
  return { ...client.get(threadId), way: 'client' }
}
