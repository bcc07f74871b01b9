/** A service that is killed while it gives a command: before or after the announcement that follows the rows. */
import { Client, Connection } from '@temporalio/client'
import type { WorkflowClientInterceptor } from '@temporalio/client'
import { ThreadClient } from '../../../src/client/index.js'
import type { StoreOptions } from '../../../src/client/index.js'
import { giveCommand } from './commands.js'
import type { CommandName } from './commands.js'

interface Given {
  readonly id: string
  readonly address: string
  readonly taskQueue: string
  readonly place: StoreOptions
  readonly command: CommandName
  readonly moment: 'before' | 'after'
}

const { id, address, taskQueue, place, command, moment } = JSON.parse(process.argv[2] ?? '{}') as Given
const end = (): never => {
  process.kill(process.pid, 'SIGKILL')
  // The signal comes at once: nothing after it runs.
  for (;;);
}
const killer: WorkflowClientInterceptor = {
  async signal(input, next) {
    if (moment === 'before') end()
    await next(input)
    return end()
  },
}
const connection = Connection.lazy({ address })
const client = new Client({ connection, interceptors: { workflow: [killer] } })
await giveCommand(new ThreadClient({ client, taskQueue, store: place }).get(id).once('key'), command)
