import { Connection } from '@temporalio/client'
import { msToTs } from '@temporalio/common/lib/time.js'

import { until } from './until.js'

const DEFAULT = 'default'
/** The least that a server takes. */
const RETENTION = msToTs('1 day')
/** What `operatorService` calls the types of `--search-attribute`. */
const TYPES: Readonly<Record<string, number>> = { Keyword: 2, KeywordList: 7 }
const NOT_FOUND = 5

/**
 * Whether the server takes requests: that it knows nothing of a workflow is what its history service says, the last one
 * that can say something after a start.
 */
export async function temporalAnswers(address: string): Promise<boolean> {
  const connection = Connection.lazy({ address })
  try {
    await connection.withDeadline(Date.now() + 2_000, () =>
      connection.workflowService.describeWorkflowExecution({
        namespace: DEFAULT,
        execution: { workflowId: 'nobody' },
      }),
    )
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === NOT_FOUND
  } finally {
    await connection.close()
  }
}

interface NewNamespace {
  /** @default 'default' */
  readonly namespace?: string
  /** By name and type: `{ ThreadAgent: 'Keyword' }`. */
  readonly searchAttributes: Readonly<Record<string, string>>
}

/** Registers a namespace with its search attributes. */
export async function registerNamespace(
  address: string,
  { namespace = DEFAULT, searchAttributes }: NewNamespace,
): Promise<void> {
  const connection = await Connection.connect({ address })
  try {
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: RETENTION,
    })
    const numbers = Object.entries(searchAttributes).map(([name, type]) => [name, TYPES[type] ?? 0] as const)
    await until('the namespace to take search attributes', async () => {
      try {
        await connection.operatorService.addSearchAttributes({
          namespace,
          searchAttributes: Object.fromEntries(numbers),
        })
        return true
      } catch (error) {
        // Some of its services do not know the namespace yet.
        if (error instanceof Error && 'code' in error && error.code === NOT_FOUND) return false
        throw error
      }
    })
  } finally {
    await connection.close()
  }
}
