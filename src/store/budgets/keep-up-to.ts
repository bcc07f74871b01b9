/** Sets an entry of a map that only saves work. A map that is full begins anew: what is used often is soon there again. */
export function keepUpTo<Value>(most: number, map: Map<string, Value>, key: string, value: Value): void {
  if (map.size >= most && !map.has(key)) map.clear()
  map.set(key, value)
}
