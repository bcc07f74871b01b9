/** The provider of definitions whose models every test scripts. */
export const unscripted = {
  languageModel(): never {
    throw new Error('Expected the model to be scripted by the test.')
  },
}
