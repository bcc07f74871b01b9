/** Stands for the orders service of a shop. */
export interface Order {
  readonly item: string
  /** Euros. */
  readonly total: number
}

const ORDERS: ReadonlyMap<string, Order> = new Map([
  ['A-17', { item: 'a tent', total: 180 }],
  ['B-02', { item: 'a lamp', total: 35 }],
])

const refunded = new Set<string>()

export function findOrder(id: string): Order | undefined {
  return ORDERS.get(id)
}

export function invoiceOf(id: string, { item, total }: Order): string {
  return `Invoice ${id}\n${item}: ${total} euros\n`
}

/** The key makes a repeated request have no second effect. */
export function refund(idempotencyKey: string): void {
  refunded.add(idempotencyKey)
}
