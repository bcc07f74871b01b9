/** In everything that anybody says in a simulated life, and in no id or name (T5). */
export const WORDS = 'zanzibar'
