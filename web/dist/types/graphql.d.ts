/** Whether a GraphQL document runs nothing but queries and subscriptions: the operation of this name, else each that it has. */
export declare function onlyReads(document: string, name?: string): boolean;
