import { ThreadClient } from 'everthread/client'
import { serveThreads } from 'everthread/server'

const { EVERTHREAD_TOKEN: token = '', EVERTHREAD_TOOL_TOKEN: toolToken = '' } = process.env
const server = await serveThreads({
  client: new ThreadClient(),
  tokens: [{ token }],
  toolWorkers: [{ token: toolToken, taskQueues: ['python-tools'] }],
})
console.log(`server: ${server.url}`)
