/** Stands for the account of a shop. */
interface Order {
  readonly item: string
  /** Euros. */
  readonly total: number
  readonly refunded: number
}

const orders = new Map<string, Order>([['A-17', { item: 'a tent', total: 180, refunded: 0 }]])
const booked = new Set<string>()

export const account = {
  find: (id: string): Order | undefined => orders.get(id),
  /** The key makes a repeated request have no second effect. */
  refund(id: string, euros: number, idempotencyKey: string): void {
    const order = orders.get(id)
    if (order === undefined || booked.has(idempotencyKey)) return
    booked.add(idempotencyKey)
    orders.set(id, { ...order, refunded: order.refunded + euros })
  },
}
