/** A fresh process that replays one history, and says how long it took. */
import { readFileSync } from 'node:fs'

import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js'
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker'

const [historyPath = '', codePath = ''] = process.argv.slice(2)
Runtime.install({ logger: new DefaultLogger('WARN') })
const history = historyFromJSON(JSON.parse(readFileSync(historyPath, 'utf8')))

const started = performance.now()
const results = Worker.runReplayHistories({ workflowBundle: { codePath } }, [
  { workflowId: 'replayed', history },
])
const { value } = await results.next()
const ms = performance.now() - started
await results.return?.()
process.send?.(value?.error === undefined ? { ms } : { problem: value.error.message })
