// What viz/build/engine-plugin.ts makes.
declare module 'virtual:engine' {
  /** strata.wasm, gzip, base64. */
  const engine: string;
  export default engine;
}
declare module 'virtual:engine-worker' {
  /** The script of the worker. */
  const script: string;
  export default script;
}
