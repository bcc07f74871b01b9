/** Stands for a library of the user's. */
export async function renderInvoice(order: { readonly total: number }): Promise<Uint8Array> {
  return new TextEncoder().encode(`Total: ${order.total}`)
}
