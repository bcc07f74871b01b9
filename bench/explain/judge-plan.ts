/** A node of a plan, as EXPLAIN (ANALYZE, FORMAT JSON) gives it. */
export interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

export interface Judged {
  /** By which ways the tables were read. */
  readonly ways: readonly string[]
  /** Rows that were looked at, those that a filter threw away too. */
  readonly rows: number
  /** What must not be. */
  readonly problems: readonly string[]
}

/** Sorting so many takes less than a millisecond. */
const SMALL_SORT = 1000

/** A page of the longest thread counts its 20,000 rows, twice: more is no page. */
const MANY_ROWS = 50_000

/** Reads of whole tables, and sorts of many rows: a plan must have neither. `large`: tables that grow without end. */
export function judgePlan(plan: PlanNode, large: ReadonlySet<string>): Judged {
  const nodes = allOf(plan)
  const scans = nodes.filter(
    (node) => node['Relation Name'] !== undefined || node['Index Name'] !== undefined,
  )
  const problems = nodes.flatMap((node) => {
    const table = node['Relation Name'] ?? ''
    if (node['Node Type'].includes('Seq Scan') && large.has(table)) return [`reads all of ${table}`]
    const input = Math.max(
      0,
      ...(node.Plans ?? []).map((child) => child['Actual Rows'] * child['Actual Loops']),
    )
    return node['Node Type'] === 'Sort' && input > SMALL_SORT ? [`sorts ${input} rows`] : []
  })
  const rows = scans.reduce((sum, node) => sum + looked(node), 0)
  const many = rows > MANY_ROWS ? [`looks at ${rows} rows`] : []
  return { ways: [...new Set(scans.map(wayOf))], rows, problems: [...problems, ...many] }
}

function allOf(node: PlanNode): readonly PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(allOf)]
}

function looked(node: PlanNode): number {
  return (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
}

function wayOf(node: PlanNode): string {
  return node['Index Name'] ?? `${node['Node Type']} ${node['Relation Name']}`
}
