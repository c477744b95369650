import { ApolloClient, ApolloLink, HttpLink, InMemoryCache, gql } from "@apollo/client";
import { draw, order } from "./here.ts";

const link = new HttpLink({ uri: `/graphql${location.search}` });
const client = new ApolloClient({ link: ApolloLink.from([link]), cache: new InMemoryCache() });

draw(async (signal) => {
  const mutation = gql`mutation Create($item: String!) { createOrder(item: $item) { id } }`;
  const { data } = await client.mutate<{ createOrder: { id: string } }>({ mutation, variables: { item: order.item }, context: { fetchOptions: { signal } } });
  return data!.createOrder;
}, async () => {
  const query = gql`# a mutation in a comment
    query Count { orders { id } }`;
  const { data } = await client.query<{ orders: object[] }>({ query, fetchPolicy: "network-only" });
  return data!.orders.length;
});
