import type { Client } from '@temporalio/client'

import { missingSearchAttributes } from '../client/search-attributes.js'
import { openStore } from '../store/store.js'
import { storeLocation } from '../store/store-location.js'
import type { Command } from './command.js'

/** Makes ready what threads need, as often as one likes: the database's schema and the search attributes. */
export const setup: Command = {
  usage: '',
  summary: 'make the database and the search attributes ready; repeating it changes nothing',
  arguments: [],
  flags: {},
  async run({ threads, terminal }) {
    const { database } = storeLocation({})
    // Opening it brings it to the schema of this version.
    await (await openStore()).close()
    terminal.line(`database: ready (${database})`)
    const added = await addSearchAttributes(threads.temporal)
    terminal.line(`search attributes: ready${added.length === 0 ? '' : ` (added ${added.join(', ')})`}`)
  },
}

async function addSearchAttributes(client: Client): Promise<readonly string[]> {
  const missing = await missingSearchAttributes(client)
  if (missing.length === 0) return []
  const { namespace } = client.options
  const searchAttributes = Object.fromEntries(missing.map(({ name, type }) => [name, type]))
  await client.connection.operatorService.addSearchAttributes({ namespace, searchAttributes })
  return missing.map(({ name }) => name)
}
