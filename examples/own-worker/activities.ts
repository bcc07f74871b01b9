import type { ThreadClient } from 'everthread/client'

/** Activities of the shop. */
export interface ShopActivities {
  bookRefund(orderId: string, euros: number): Promise<string>
  readAnswer(threadId: string): Promise<string>
}

export function shopActivities(threads: ThreadClient): ShopActivities {
  return {
    async bookRefund(orderId, euros) {
      return `${euros} euros are refunded for ${orderId}.`
    },
    async readAnswer(threadId) {
      const { reply } = await threads.get(threadId).waitUntilIdle()
      return reply?.content ?? 'The agent said nothing.'
    },
  }
}
