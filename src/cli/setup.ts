import type { Client } from '@temporalio/client'
import { missingSearchAttributes } from '../client/search-attributes.js'
import { translate } from '../client/translate.js'
import { LIMITS } from '../protocol/limits.js'
import { prepareStore } from '../store/open-store.js'
import { taskQueueOf } from '../store/store-location.js'
import type { Command } from './command.js'

/** Makes ready what threads need, as often as one likes: the database's schema and the search attributes. */
export const setup: Command = {
  usage: '[--new-store-id]',
  summary:
    'make the database and the search attributes ready; repeating it changes nothing; --new-store-id: for a copy of a ' +
    'database, whose open threads belong to the original',
  arguments: [],
  flags: { 'new-store-id': 'boolean' },
  async run({ threads, terminal }, { flags }) {
    const { name, id } = await prepareStore({}, { newId: flags['new-store-id'] === true })
    terminal.line(`database: ready (${name})`)
    terminal.line(`store: ${id}, task queue "${taskQueueOf(id)}"`)
    const added = await addSearchAttributes(threads.temporal).catch((error: unknown) => {
      // Of no thread.
      throw translate(error, { client: threads.temporal, threadId: '' })
    })
    terminal.line(`search attributes: ready${added.length === 0 ? '' : ` (added ${added.join(', ')})`}`)
  },
}

function addSearchAttributes(client: Client): Promise<readonly string[]> {
  return client.withDeadline(Date.now() + LIMITS.temporalCall, async () => {
    const missing = await missingSearchAttributes(client)
    if (missing.length === 0) return []
    const { namespace } = client.options
    const searchAttributes = Object.fromEntries(missing.map(({ name, type }) => [name, type]))
    await client.connection.operatorService.addSearchAttributes({ namespace, searchAttributes })
    return missing.map(({ name }) => name)
  })
}
