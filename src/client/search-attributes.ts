import type { Client } from '@temporalio/client'
import { SEARCH_ATTRIBUTES } from '../protocol/messages.js'
import { isRefusal, translate } from './connection.js'

/** Temporal's numbers of the two types that are used. */
const TYPES = { Keyword: 2, KeywordList: 7 } as const

/**
 * Which of our search attributes are registered in the namespace, with the right type: any other one would fail a
 * thread's workflow task for ever. None where the server has no listing, or refuses it.
 */
export async function registeredSearchAttributes(
  client: Client,
  threadId: string,
): Promise<readonly string[]> {
  const { namespace } = client.options
  const registered = await listSearchAttributes(client, threadId)
  if (registered === null) return []
  const missing = missingOf(registered)
  if (missing.length > 0)
    process.emitWarning(warningOf(missing, namespace), { code: 'EVERTHREAD_SEARCH_ATTRIBUTES' })
  return ours.filter((attribute) => !missing.includes(attribute)).map(({ name }) => name)
}

/** Those that the namespace lacks, with the number of their type. */
export async function missingSearchAttributes(
  client: Client,
): Promise<readonly { readonly name: string; readonly type: number }[]> {
  const { namespace } = client.options
  const { customAttributes } = await client.connection.operatorService.listSearchAttributes({ namespace })
  return missingOf(customAttributes).map(({ name, type }) => ({ name, type: TYPES[type] }))
}

function missingOf(registered: Readonly<Record<string, unknown>>): readonly SearchAttribute[] {
  return ours.filter(({ name, type }) => registered[name] !== TYPES[type])
}

interface SearchAttribute {
  readonly name: string
  readonly type: keyof typeof TYPES
}

const ours: readonly SearchAttribute[] = Object.values(SEARCH_ATTRIBUTES).map((name) => ({
  name,
  type: name === SEARCH_ATTRIBUTES.tags ? 'KeywordList' : 'Keyword',
}))

async function listSearchAttributes(
  client: Client,
  threadId: string,
): Promise<Record<string, unknown> | null> {
  const { namespace } = client.options
  try {
    return (await client.connection.operatorService.listSearchAttributes({ namespace })).customAttributes
  } catch (error) {
    if (isRefusal(error)) return null
    throw translate(error, { client, threadId })
  }
}

function warningOf(missing: readonly SearchAttribute[], namespace: string): string {
  const flags = missing.map(({ name, type }) => `--name ${name} --type ${type}`).join(' ')
  return (
    `Threads are not listed by ${missing.map(({ name }) => name).join(', ')} in Temporal, which does not know these ` +
    `search attributes. To add them: temporal operator search-attribute create --namespace ${namespace} ${flags}`
  )
}
