export const viz: string;
export const JSON_VERSION: number;
export function sourcesHash(): string;
